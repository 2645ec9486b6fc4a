"""Case pages: what an investigator reads about an account, in files that work anywhere."""
