"""People on a social feed: personas, graphs, posts, feeds and cascades.

Import the modules that use agents (`chart`, `choice`, `world`, `domain`) by their own names: agents use the personas
and posts that are exported here.
"""

from prism.social.cascade import Cascade, CascadeEdge, Cascades, CascadeSize
from prism.social.edges import parse_edges
from prism.social.graph import FollowGraph
from prism.social.network import Network
from prism.social.persona import Persona
from prism.social.population import Population, build_population
from prism.social.post import Post, PostKind, PostView
from prism.social.profiles import Profile, parse_profiles

__all__ = [
    "Cascade",
    "CascadeEdge",
    "CascadeSize",
    "Cascades",
    "FollowGraph",
    "Network",
    "Persona",
    "Population",
    "Post",
    "PostKind",
    "PostView",
    "Profile",
    "build_population",
    "parse_edges",
    "parse_profiles",
]
