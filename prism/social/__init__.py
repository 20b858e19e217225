"""People on a social feed: personas, graphs, posts, feeds and cascades.

Import the modules that use agents (`chart`, `choice`, `network`, `world`, `domain`) by their own names: agents use the
personas and posts that are exported here.
"""

from prism.social.persona import Persona
from prism.social.post import Post, PostView
from prism.social.profiles import Profile

__all__ = ["Persona", "Post", "PostView", "Profile"]
