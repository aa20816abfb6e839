"""Which share of its windows each query keeps."""
