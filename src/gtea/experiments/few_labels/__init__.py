"""Learning curves with few labels: is the default model behind a tree when hardly anything is labelled?"""
