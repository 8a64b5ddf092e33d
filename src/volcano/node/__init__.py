"""What happens to a bound pod: process nodes and simulated nodes, ordinary clients of the API."""
