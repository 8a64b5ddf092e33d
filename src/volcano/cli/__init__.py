"""What people type: volcano, vcctl."""
