"""The rules about volumes: where volumes can be reached, attached, created, and shared by several tasks."""
