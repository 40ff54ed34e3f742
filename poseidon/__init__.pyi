from poseidon.api import audit as audit
from poseidon.api import explain as explain
from poseidon.api import plan as plan
from poseidon.api import read as read

__version__: str
