"""People on a social feed: personas, graphs, posts, feeds and cascades.

Import the modules that use agents (`chart`, `choice`, `network`, `world`, `domain`) by their own names: agents use the
personas and posts that are exported here.
"""

from prism.social.people.persona import Persona
from prism.social.people.profiles import Profile
from prism.social.posts.post import Post, PostView

__all__ = ["Persona", "Post", "PostView", "Profile"]
