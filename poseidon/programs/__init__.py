"""Small programs that run on nodes and measure what a scheduler cannot know."""
