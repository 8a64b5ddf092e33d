"""The objects on the wire: the table of kinds, well-known names, typed readers, schemas, CRDs."""
