"""People on a social feed: personas, graphs, posts, feeds and cascades."""

from prism.social.people.persona import Persona
from prism.social.people.profiles import Profile
from prism.social.posts.post import Post, PostView

__all__ = ["Persona", "Post", "PostView", "Profile"]
