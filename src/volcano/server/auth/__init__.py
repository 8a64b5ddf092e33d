"""Who asks and what they may: certificates, tokens, authentication, RBAC, and the review kinds."""
