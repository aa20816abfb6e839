from hypothesis import settings

from tests.thoroughness import USUAL

settings.register_profile("chosen", USUAL)
settings.load_profile("chosen")
