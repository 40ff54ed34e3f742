"""Bridge and solver killed, again and again, while pods get devices: nobody may get one twice, and none may be lost."""
