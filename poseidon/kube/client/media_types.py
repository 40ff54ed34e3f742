"""Media types of what is asked for, and of patches."""

JSON = "application/json"
METADATA = f"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,{JSON}"
"""Lists without specs and statuses; those who do not know of them send the whole objects."""

STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
MERGE_PATCH = "application/merge-patch+json"
