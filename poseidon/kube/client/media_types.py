"""Names the media types of answers and of patches."""

JSON = "application/json"
METADATA = f"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,{JSON}"
"""Asks for lists without specs and statuses; servers that do not know the type send whole objects."""

STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
