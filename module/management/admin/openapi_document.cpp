#include "module/management/admin/admin_api.hpp"
#include "module/redis/protocol/record_fields.hpp"

namespace tollgate::management {

namespace {

/// Where the document has the location.
constexpr std::string_view kLocation = "{LOCATION}";

// Where it has what is derived from the fields of a key: members of objects and elements of a list.
constexpr std::string_view kNames = R"("{NAMES}")";
constexpr std::string_view kShown = R"("{SHOWN}": 0)";
constexpr std::string_view kSettable = R"("{SETTABLE}": 0)";
constexpr std::string_view kExamples = R"("{EXAMPLES}": 0)";

// clang-format off
constexpr std::string_view kDocument = R"json({
  "openapi": "3.1.0",
  "info": {
    "title": "Tollgate admin",
    "version": "0.1.0",
    "summary": "Manages API keys.",
    "description": "A program issues, changes, rotates and revokes API keys, and reads the audit. The program has a key of its own, with the scope that `tollgate_scope` names. Every operation can be interrupted and repeated.",
    "contact": {"name": "The operator of this service"},
    "license": {"name": "MIT", "identifier": "MIT"}
  },
  "servers": [{"url": "{LOCATION}", "description": "The location of `tollgate_admin`."}],
  "security": [{"apiKey": []}],
  "tags": [
    {"name": "keys", "description": "API keys."},
    {"name": "bans", "description": "Bans of keys."},
    {"name": "audit", "description": "Who did what."},
    {"name": "document", "description": "This document."}
  ],
  "paths": {
    "/keys": {
      "get": {
        "operationId": "listKeys",
        "tags": ["keys"],
        "summary": "List keys",
        "description": "Returns keys in the order of their creation, one page at a time. A page may have fewer keys than `limit` although more follow: a filter reads only a part of the keys for one page.",
        "parameters": [
          {
            "name": "limit",
            "in": "query",
            "required": false,
            "description": "The largest number of results.",
            "schema": {"type": "integer", "minimum": 1, "maximum": 100, "default": 50},
            "example": 20
          },
          {
            "name": "after",
            "in": "query",
            "required": false,
            "description": "Restricts results to keys after a place: the value of `next` of the page before.",
            "schema": {"type": "string"},
            "example": "1795420800:acme"
          },
          {
            "name": "plan",
            "in": "query",
            "required": false,
            "description": "Restricts results to a plan.",
            "schema": {"type": "string"},
            "example": "pro"
          },
          {
            "name": "state",
            "in": "query",
            "required": false,
            "description": "Restricts results to a state.",
            "schema": {"type": "string", "enum": ["active", "disabled", "expired", "replaced", "none"]},
            "example": "active"
          },
          {
            "name": "name",
            "in": "query",
            "required": false,
            "description": "Restricts results to names that have this part, or match a pattern with `*`, `?` or `[abc]`.",
            "schema": {"type": "string"},
            "example": "ACME*"
          },
          {
            "name": "expires_before",
            "in": "query",
            "required": false,
            "description": "Restricts results to keys that expire before a time (RFC 3339).",
            "schema": {"type": "string"},
            "example": "2026-12-01T00:00:00Z"
          },
          {"$ref": "#/components/parameters/IfMatch"},
          {"$ref": "#/components/parameters/IfNoneMatch"}
        ],
        "responses": {
          "200": {
            "description": "A page of keys.",
            "headers": {"Link": {"$ref": "#/components/headers/Link"}},
            "content": {
              "application/json": {
                "schema": {"$ref": "#/components/schemas/KeyPage"},
                "example": {
                  "keys": [
                    {
                      "id": "acme",
                      "{EXAMPLES}": 0,
                      "created": "2026-11-23T08:00:00Z",
                      "digests": [
                        {
                          "sha256": "8d969eef6ecad3c29a3a629280e686cf0c3f5d5a86aff3ca12020c923adc6c92",
                          "created": "2026-11-23T08:00:00Z",
                          "expires": null,
                          "retiring": false,
                          "used": "2026-11-23T09:41:00Z"
                        }
                      ]
                    }
                  ],
                  "next": null
                }
              }
            }
          },
          "304": {"$ref": "#/components/responses/NotModified"},
          "400": {"$ref": "#/components/responses/Invalid"},
          "401": {"$ref": "#/components/responses/Unauthorized"},
          "403": {"$ref": "#/components/responses/Forbidden"},
          "412": {"$ref": "#/components/responses/PreconditionFailed"},
          "429": {"$ref": "#/components/responses/TooMany"},
          "503": {"$ref": "#/components/responses/Unavailable"}
        }
      },
      "post": {
        "operationId": "createKey",
        "tags": ["keys"],
        "summary": "Issue or import a key",
        "description": "Issues a key, or imports one if the body has its digest. The key in clear is in the response to the request that made it, and nowhere else.",
        "parameters": [
          {"$ref": "#/components/parameters/IdempotencyKey"},
          {"$ref": "#/components/parameters/IfMatch"},
          {"$ref": "#/components/parameters/IfNoneMatch"}
        ],
        "requestBody": {
          "required": true,
          "content": {
            "application/json": {
              "schema": {"$ref": "#/components/schemas/KeyToIssue"},
              "example": {"plan": "pro", "name": "ACME Ltd", "scopes": ["pets:read"], "meta": {"contract": 4711}}
            }
          }
        },
        "responses": {
          "200": {
            "description": "The request was repeated with the same Idempotency-Key: the key exists already.",
            "headers": {
              "Location": {"$ref": "#/components/headers/Location"},
              "ETag": {"$ref": "#/components/headers/ETag"}
            },
            "content": {
              "application/json": {
                "schema": {"$ref": "#/components/schemas/Key"},
                "examples": {"acme": {"$ref": "#/components/examples/Key"}}
              }
            }
          },
          "201": {
            "description": "The new key.",
            "headers": {
              "Location": {"$ref": "#/components/headers/Location"},
              "ETag": {"$ref": "#/components/headers/ETag"},
              "Tollgate-Durability": {"$ref": "#/components/headers/Durability"}
            },
            "content": {
              "application/json": {
                "schema": {"$ref": "#/components/schemas/NewKey"},
                "examples": {"acme": {"$ref": "#/components/examples/NewKey"}}
              }
            }
          },
          "400": {"$ref": "#/components/responses/Invalid"},
          "401": {"$ref": "#/components/responses/Unauthorized"},
          "403": {"$ref": "#/components/responses/Forbidden"},
          "409": {
            "description": "The id or the key exists already, or another request changes the id at the same time.",
            "content": {
              "application/json": {
                "schema": {"$ref": "#/components/schemas/Error"},
                "example": {"code": "id_exists", "message": "the id \"acme\" already exists", "status": 409}
              }
            }
          },
          "412": {"$ref": "#/components/responses/PreconditionFailed"},
          "413": {"$ref": "#/components/responses/TooLarge"},
          "415": {"$ref": "#/components/responses/UnsupportedMedia"},
          "422": {"$ref": "#/components/responses/IdempotencyKeyReused"},
          "429": {"$ref": "#/components/responses/TooMany"},
          "503": {"$ref": "#/components/responses/Unavailable"}
        }
      }
    },
    "/keys/{id}": {
      "parameters": [{"$ref": "#/components/parameters/Id"}],
      "get": {
        "operationId": "showKey",
        "tags": ["keys"],
        "summary": "Show a key",
        "description": "Returns an id and its keys.",
        "parameters": [{"$ref": "#/components/parameters/IfMatch"}, {"$ref": "#/components/parameters/IfNoneMatch"}],
        "responses": {
          "200": {
            "description": "The key.",
            "headers": {"ETag": {"$ref": "#/components/headers/ETag"}},
            "content": {
              "application/json": {
                "schema": {"$ref": "#/components/schemas/Key"},
                "examples": {"acme": {"$ref": "#/components/examples/Key"}}
              }
            }
          },
          "304": {"$ref": "#/components/responses/NotModified"},
          "400": {"$ref": "#/components/responses/Invalid"},
          "401": {"$ref": "#/components/responses/Unauthorized"},
          "403": {"$ref": "#/components/responses/Forbidden"},
          "404": {"$ref": "#/components/responses/Unknown"},
          "412": {"$ref": "#/components/responses/PreconditionFailed"},
          "429": {"$ref": "#/components/responses/TooMany"},
          "503": {"$ref": "#/components/responses/Unavailable"}
        }
      },
      "patch": {
        "operationId": "changeKey",
        "tags": ["keys"],
        "summary": "Change a key",
        "description": "Sets the given values for all keys of the id. Gateways apply the change within 200 ms.",
        "parameters": [{"$ref": "#/components/parameters/IfMatch"}, {"$ref": "#/components/parameters/IfNoneMatch"}],
        "requestBody": {
          "required": true,
          "content": {
            "application/json": {
              "schema": {"$ref": "#/components/schemas/KeyChanges"},
              "example": {"plan": "business", "meta": {"contract": null}}
            },
            "application/merge-patch+json": {
              "schema": {"$ref": "#/components/schemas/KeyChanges"}
            }
          }
        },
        "responses": {
          "200": {
            "description": "The changed key.",
            "headers": {
              "ETag": {"$ref": "#/components/headers/ETag"},
              "Tollgate-Durability": {"$ref": "#/components/headers/Durability"}
            },
            "content": {
              "application/json": {
                "schema": {"$ref": "#/components/schemas/Key"},
                "examples": {"acme": {"$ref": "#/components/examples/Key"}}
              }
            }
          },
          "400": {"$ref": "#/components/responses/Invalid"},
          "401": {"$ref": "#/components/responses/Unauthorized"},
          "403": {"$ref": "#/components/responses/Forbidden"},
          "404": {"$ref": "#/components/responses/Unknown"},
          "409": {
            "description": "The id has no key left.",
            "content": {
              "application/json": {
                "schema": {"$ref": "#/components/schemas/Error"},
                "example": {"code": "no_key", "message": "the id \"acme\" has no key", "status": 409}
              }
            }
          },
          "412": {"$ref": "#/components/responses/PreconditionFailed"},
          "413": {"$ref": "#/components/responses/TooLarge"},
          "415": {"$ref": "#/components/responses/UnsupportedMedia"},
          "429": {"$ref": "#/components/responses/TooMany"},
          "503": {"$ref": "#/components/responses/Unavailable"}
        }
      },
      "delete": {
        "operationId": "revokeKey",
        "tags": ["keys"],
        "summary": "Revoke a key",
        "description": "Removes an id, its keys, their last uses and its ban. The keys stop working at once.",
        "parameters": [{"$ref": "#/components/parameters/IfMatch"}, {"$ref": "#/components/parameters/IfNoneMatch"}],
        "responses": {
          "204": {
            "description": "The id does not exist any more.",
            "headers": {"Tollgate-Durability": {"$ref": "#/components/headers/Durability"}}
          },
          "400": {"$ref": "#/components/responses/Invalid"},
          "401": {"$ref": "#/components/responses/Unauthorized"},
          "403": {"$ref": "#/components/responses/Forbidden"},
          "404": {"$ref": "#/components/responses/Unknown"},
          "412": {"$ref": "#/components/responses/PreconditionFailed"},
          "429": {"$ref": "#/components/responses/TooMany"},
          "503": {"$ref": "#/components/responses/Unavailable"}
        }
      }
    },
    "/keys/{id}/rotate": {
      "parameters": [{"$ref": "#/components/parameters/Id"}],
      "post": {
        "operationId": "rotateKey",
        "tags": ["keys"],
        "summary": "Rotate a key",
        "description": "Makes a new key for an id. The previous key works for the time of the overlap. If the response is lost, repeat the request with the same Idempotency-Key.",
        "parameters": [
          {"$ref": "#/components/parameters/IdempotencyKey"},
          {"$ref": "#/components/parameters/IfMatch"},
          {"$ref": "#/components/parameters/IfNoneMatch"}
        ],
        "requestBody": {
          "required": false,
          "content": {
            "application/json": {"schema": {"$ref": "#/components/schemas/Rotation"}, "example": {"overlap": "24h"}}
          }
        },
        "responses": {
          "200": {
            "description": "The new key, first among the keys of the id.",
            "headers": {
              "ETag": {"$ref": "#/components/headers/ETag"},
              "Tollgate-Durability": {"$ref": "#/components/headers/Durability"}
            },
            "content": {
              "application/json": {
                "schema": {"$ref": "#/components/schemas/NewKey"},
                "examples": {"acme": {"$ref": "#/components/examples/NewKey"}}
              }
            }
          },
          "400": {"$ref": "#/components/responses/Invalid"},
          "401": {"$ref": "#/components/responses/Unauthorized"},
          "403": {"$ref": "#/components/responses/Forbidden"},
          "404": {"$ref": "#/components/responses/Unknown"},
          "409": {
            "description": "An earlier overlap has not ended, the key has expired, the id has no key, or another request changes the id at the same time.",
            "content": {
              "application/json": {
                "schema": {"$ref": "#/components/schemas/Error"},
                "example": {
                  "code": "two_keys",
                  "message": "\"acme\" has two keys until 2026-11-24T08:00:00Z",
                  "status": 409
                }
              }
            }
          },
          "412": {"$ref": "#/components/responses/PreconditionFailed"},
          "413": {"$ref": "#/components/responses/TooLarge"},
          "415": {"$ref": "#/components/responses/UnsupportedMedia"},
          "422": {"$ref": "#/components/responses/IdempotencyKeyReused"},
          "429": {"$ref": "#/components/responses/TooMany"},
          "503": {"$ref": "#/components/responses/Unavailable"}
        }
      }
    },
    "/keys/{id}/ban": {
      "parameters": [{"$ref": "#/components/parameters/Id"}],
      "get": {
        "operationId": "showBan",
        "tags": ["bans"],
        "summary": "Show the ban of a key",
        "description": "Returns the strikes and the ban of an id.",
        "parameters": [{"$ref": "#/components/parameters/IfMatch"}, {"$ref": "#/components/parameters/IfNoneMatch"}],
        "responses": {
          "200": {
            "description": "The ban.",
            "content": {
              "application/json": {
                "schema": {"$ref": "#/components/schemas/Ban"},
                "example": {
                  "id": "acme",
                  "banned": true,
                  "until": "2026-11-23T08:10:00Z",
                  "level": 1,
                  "strikes": 0,
                  "since": "2026-11-23T07:59:00Z"
                }
              }
            }
          },
          "304": {"$ref": "#/components/responses/NotModified"},
          "400": {"$ref": "#/components/responses/Invalid"},
          "401": {"$ref": "#/components/responses/Unauthorized"},
          "403": {"$ref": "#/components/responses/Forbidden"},
          "404": {"$ref": "#/components/responses/Unknown"},
          "412": {"$ref": "#/components/responses/PreconditionFailed"},
          "429": {"$ref": "#/components/responses/TooMany"},
          "503": {"$ref": "#/components/responses/Unavailable"}
        }
      },
      "delete": {
        "operationId": "liftBan",
        "tags": ["bans"],
        "summary": "Lift the ban of a key",
        "description": "Removes the strikes and the ban of an id.",
        "parameters": [{"$ref": "#/components/parameters/IfMatch"}, {"$ref": "#/components/parameters/IfNoneMatch"}],
        "responses": {
          "204": {
            "description": "The id is not banned.",
            "headers": {"Tollgate-Durability": {"$ref": "#/components/headers/Durability"}}
          },
          "400": {"$ref": "#/components/responses/Invalid"},
          "401": {"$ref": "#/components/responses/Unauthorized"},
          "403": {"$ref": "#/components/responses/Forbidden"},
          "404": {"$ref": "#/components/responses/Unknown"},
          "412": {"$ref": "#/components/responses/PreconditionFailed"},
          "429": {"$ref": "#/components/responses/TooMany"},
          "503": {"$ref": "#/components/responses/Unavailable"}
        }
      }
    },
    "/audit": {
      "get": {
        "operationId": "listAudit",
        "tags": ["audit"],
        "summary": "List the audit",
        "description": "Returns who did what to which id, the oldest entry first.",
        "parameters": [
          {
            "name": "limit",
            "in": "query",
            "required": false,
            "description": "The largest number of results.",
            "schema": {"type": "integer", "minimum": 1, "maximum": 100, "default": 50},
            "example": 20
          },
          {
            "name": "after",
            "in": "query",
            "required": false,
            "description": "Restricts results to entries after a place: the value of `next`.",
            "schema": {"type": "string"},
            "example": "1795420800000-0"
          },
          {
            "name": "id",
            "in": "query",
            "required": false,
            "description": "Restricts results to an id.",
            "schema": {"type": "string"},
            "example": "acme"
          },
          {"$ref": "#/components/parameters/IfMatch"},
          {"$ref": "#/components/parameters/IfNoneMatch"}
        ],
        "responses": {
          "200": {
            "description": "Entries.",
            "headers": {"Link": {"$ref": "#/components/headers/Link"}},
            "content": {
              "application/json": {
                "schema": {"$ref": "#/components/schemas/AuditPage"},
                "example": {
                  "entries": [
                    {
                      "place": "1795420800000-0",
                      "time": "2026-11-23T08:00:00Z",
                      "actor": "key:portal",
                      "action": "issue",
                      "id": "acme",
                      "detail": "plan=pro"
                    }
                  ],
                  "next": "1795420800000-0",
                  "has_more": false
                }
              }
            }
          },
          "304": {"$ref": "#/components/responses/NotModified"},
          "400": {"$ref": "#/components/responses/Invalid"},
          "401": {"$ref": "#/components/responses/Unauthorized"},
          "403": {"$ref": "#/components/responses/Forbidden"},
          "412": {"$ref": "#/components/responses/PreconditionFailed"},
          "429": {"$ref": "#/components/responses/TooMany"},
          "503": {"$ref": "#/components/responses/Unavailable"}
        }
      }
    },
    "/openapi.json": {
      "get": {
        "operationId": "showDocument",
        "tags": ["document"],
        "summary": "Show this document",
        "description": "Returns the OpenAPI document of the resources.",
        "parameters": [{"$ref": "#/components/parameters/IfMatch"}, {"$ref": "#/components/parameters/IfNoneMatch"}],
        "responses": {
          "200": {
            "description": "The document.",
            "content": {"application/json": {"schema": {"type": "object"}, "example": {"openapi": "3.1.0"}}}
          },
          "304": {"$ref": "#/components/responses/NotModified"},
          "400": {"$ref": "#/components/responses/Invalid"},
          "401": {"$ref": "#/components/responses/Unauthorized"},
          "403": {"$ref": "#/components/responses/Forbidden"},
          "412": {"$ref": "#/components/responses/PreconditionFailed"},
          "429": {"$ref": "#/components/responses/TooMany"},
          "503": {"$ref": "#/components/responses/Unavailable"}
        }
      }
    },
    "/keys/{id}/usage": {
      "parameters": [{"$ref": "#/components/parameters/Id"}],
      "get": {
        "operationId": "showUsage",
        "tags": ["keys"],
        "summary": "Show the usage of a key",
        "description": "Returns the counts of an id in the plan tables of this gateway.",
        "parameters": [{"$ref": "#/components/parameters/IfMatch"}, {"$ref": "#/components/parameters/IfNoneMatch"}],
        "responses": {
          "200": {
            "description": "The usage.",
            "content": {
              "application/json": {
                "schema": {"$ref": "#/components/schemas/Usage"},
                "example": {
                  "id": "acme",
                  "plan": "pro",
                  "limits": null,
                  "state": "active",
                  "banned_until": null,
                  "complete": true,
                  "windows": [
                    {
                      "table": "api",
                      "window": "day",
                      "seconds": 86400,
                      "count": 12,
                      "previous": null,
                      "limit": 10000,
                      "used": 12,
                      "remaining": 9988,
                      "reset": "2026-11-24T00:00:00Z"
                    }
                  ]
                }
              }
            }
          },
          "304": {"$ref": "#/components/responses/NotModified"},
          "400": {"$ref": "#/components/responses/Invalid"},
          "401": {"$ref": "#/components/responses/Unauthorized"},
          "403": {"$ref": "#/components/responses/Forbidden"},
          "404": {"$ref": "#/components/responses/Unknown"},
          "412": {"$ref": "#/components/responses/PreconditionFailed"},
          "429": {"$ref": "#/components/responses/TooMany"},
          "503": {"$ref": "#/components/responses/Unavailable"}
        }
      }
    },
    "/keys/{id}/history": {
      "parameters": [{"$ref": "#/components/parameters/Id"}],
      "get": {
        "operationId": "showHistory",
        "tags": ["keys"],
        "summary": "Show the history of a key",
        "description": "Returns what an id was granted in each UTC day, in the plan tables of this gateway that have `history`. The days of a revoked id are shown until they expire.",
        "parameters": [
          {
            "name": "from",
            "in": "query",
            "required": false,
            "description": "Restricts results to this day and later ones.",
            "schema": {"$ref": "#/components/schemas/Day"},
            "example": "2026-11-01"
          },
          {
            "name": "to",
            "in": "query",
            "required": false,
            "description": "Restricts results to this day and earlier ones.",
            "schema": {"$ref": "#/components/schemas/Day"},
            "example": "2026-11-30"
          },
          {"$ref": "#/components/parameters/IfMatch"},
          {"$ref": "#/components/parameters/IfNoneMatch"}
        ],
        "responses": {
          "200": {
            "description": "The history.",
            "content": {
              "application/json": {
                "schema": {"$ref": "#/components/schemas/History"},
                "example": {
                  "id": "acme",
                  "days": [
                    {"day": "2026-11-22", "table": "api", "units": 1042},
                    {"day": "2026-11-23", "table": "api", "units": 12}
                  ]
                }
              }
            }
          },
          "304": {"$ref": "#/components/responses/NotModified"},
          "400": {"$ref": "#/components/responses/Invalid"},
          "401": {"$ref": "#/components/responses/Unauthorized"},
          "403": {"$ref": "#/components/responses/Forbidden"},
          "404": {"$ref": "#/components/responses/Unknown"},
          "412": {"$ref": "#/components/responses/PreconditionFailed"},
          "429": {"$ref": "#/components/responses/TooMany"},
          "503": {"$ref": "#/components/responses/Unavailable"}
        }
      }
    }
  },
  "components": {
    "securitySchemes": {
      "apiKey": {"type": "http", "scheme": "bearer", "description": "An API key with the scope of the location."}
    },
    "parameters": {
      "Id": {
        "name": "id",
        "in": "path",
        "required": true,
        "description": "The id of a key.",
        "schema": {"type": "string"},
        "example": "acme"
      },
      "IdempotencyKey": {
        "name": "Idempotency-Key",
        "in": "header",
        "required": false,
        "description": "A name for the request, 1 to 255 printable characters. If the same caller repeats the request with this name and the same body within 24 hours, nothing is done, and the response has the id without the key. A repeated rotation replaces the new key, and shows the other one, while it was never used.",
        "schema": {"type": "string"},
        "example": "6f2c1b1e-4c1f-4a07-9d0e-5a3a1b2c3d4e"
      },
      "IfMatch": {
        "name": "If-Match",
        "in": "header",
        "required": false,
        "description": "Entity tags, or `*`: the request is executed only if one of them is the ETag of the key (RFC 9110, section 13.1.1). Of two requests with the same tag, one changes the key. Only `*` matches what has no ETag.",
        "schema": {"type": "string"},
        "example": "\"5d41402abc4b2a76b9719d911017c592\""
      },
      "IfNoneMatch": {
        "name": "If-None-Match",
        "in": "header",
        "required": false,
        "description": "Entity tags, or `*`: the request is executed only if none of them is the ETag of the key (RFC 9110, section 13.1.2).",
        "schema": {"type": "string"},
        "example": "\"5d41402abc4b2a76b9719d911017c592\""
      }
    },
    "headers": {
      "RetryAfter": {"description": "In seconds.", "required": true, "schema": {"type": "integer"}},
      "Location": {
        "description": "The URI of the key, relative to the URI of the request.",
        "required": true,
        "schema": {"type": "string"}
      },
      "Durability": {
        "description": "A failover may undo the change: no replica of the present master has confirmed it within one second (unconfirmed), or it is not known whether a replica of the present master has it (unverified). Check later whether the change is there. Missing otherwise.",
        "schema": {"type": "string", "enum": ["unconfirmed", "unverified"]}
      },
      "ETag": {
        "description": "The version of the key. Each change gives it another one; a use of the key does not. An id without a key has none.",
        "schema": {"type": "string", "pattern": "^\"[0-9a-f]{32}\"$"}
      },
      "Link": {
        "description": "Refers to the next page, if there is one (RFC 8288). The reference is relative to the URI of the request.",
        "schema": {"type": "string"}
      }
    },
    "examples": {
      "Key": {
        "summary": "A key",
        "value": {
          "id": "acme",
          "{EXAMPLES}": 0,
          "created": "2026-11-23T08:00:00Z",
          "digests": [
            {
              "sha256": "8d969eef6ecad3c29a3a629280e686cf0c3f5d5a86aff3ca12020c923adc6c92",
              "created": "2026-11-23T08:00:00Z",
              "expires": null,
              "retiring": false,
              "used": "2026-11-23T09:41:00Z"
            }
          ]
        }
      },
      "NewKey": {
        "summary": "A new key",
        "value": {
          "key": "tg_0000000000000000000000000000000042zZ9A",
          "id": "acme",
          "{EXAMPLES}": 0,
          "created": "2026-11-23T08:00:00Z",
          "digests": [
            {
              "sha256": "8d969eef6ecad3c29a3a629280e686cf0c3f5d5a86aff3ca12020c923adc6c92",
              "created": "2026-11-23T08:00:00Z",
              "expires": null,
              "retiring": false,
              "used": "2026-11-23T09:41:00Z"
            }
          ]
        }
      }
    },
    "schemas": {
      "Key": {
        "type": "object",
        "required": ["id", "{NAMES}", "created", "digests"],
        "properties": {
          "id": {"$ref": "#/components/schemas/Id"},
          "{SHOWN}": 0,
          "created": {"$ref": "#/components/schemas/TimeOrNull", "description": "When the current key was stored."},
          "digests": {
            "type": "array",
            "items": {"$ref": "#/components/schemas/Digest"},
            "description": "The keys of the id, the current one first."
          }
        },
        "description": "An id and its keys."
      },
      "NewKey": {
        "description": "An id and its keys. The response to the request that made the key has the key itself; a repeated request does not.",
        "allOf": [
          {"$ref": "#/components/schemas/Key"},
          {
            "type": "object",
            "properties": {
              "key": {
                "type": "string",
                "pattern": "^tg_[0-9A-Za-z]{38}$",
                "description": "The key in clear. It is shown only this once."
              }
            }
          }
        ]
      },
      "Digest": {
        "type": "object",
        "required": ["sha256", "created", "expires", "retiring", "used"],
        "description": "A key of the id. During a rotation there are two.",
        "properties": {
          "sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$", "description": "The SHA-256 of the key."},
          "created": {"$ref": "#/components/schemas/Time", "description": "When the key was stored."},
          "expires": {"$ref": "#/components/schemas/TimeOrNull", "description": "When the key expires; null: never."},
          "retiring": {
            "type": "boolean",
            "description": "Whether a rotation has replaced the key, which works until it expires."
          },
          "used": {
            "$ref": "#/components/schemas/TimeOrNull",
            "description": "The minute of the last use of this key; null: none within 366 days. A node writes it about a second after its first request in that minute."
          }
        }
      },
      "KeyPage": {
        "type": "object",
        "required": ["keys", "next"],
        "properties": {
          "keys": {"type": "array", "items": {"$ref": "#/components/schemas/Key"}},
          "next": {
            "type": ["string", "null"],
            "description": "The value of `after` for the next page; null if there is none."
          }
        },
        "description": "Some consecutive keys, in the order of their creation."
      },
      "KeyToIssue": {
        "type": "object",
        "required": ["plan"],
        "additionalProperties": false,
        "description": "The values of a new key.",
        "properties": {
          "id": {
            "type": "string",
            "pattern": "^[A-Za-z0-9_.-]{1,64}$",
            "not": {"enum": [".", ".."]},
            "description": "The id of the key, which must not be a key itself. Without it, an id is generated."
          },
          "{SETTABLE}": 0,
          "digest": {
            "type": "string",
            "pattern": "^[0-9a-f]{64}$",
            "description": "The SHA-256 of an existing key, to import it. Without it, a key is generated."
          }
        }
      },
      "KeyChanges": {
        "type": "object",
        "minProperties": 1,
        "additionalProperties": false,
        "description": "A JSON Merge Patch (RFC 7396): what is not given remains.",
        "properties": {
          "{SETTABLE}": 0
        }
      },
      "Rotation": {
        "type": "object",
        "additionalProperties": false,
        "description": "How long the previous key works.",
        "properties": {
          "overlap": {
            "type": "string",
            "pattern": "^(0|[0-9]{1,10}(ms|s|m|h|d|w))$",
            "description": "A time with a unit, such as `24h`, which is the default. `0` ends all keys of the id first."
          }
        }
      },
      "Ban": {
        "type": "object",
        "required": ["id", "banned", "until", "level", "strikes", "since"],
        "properties": {
          "id": {"$ref": "#/components/schemas/Id"},
          "banned": {"type": "boolean", "description": "Whether the key is banned now."},
          "until": {"$ref": "#/components/schemas/TimeOrNull", "description": "The end of the ban."},
          "level": {"type": "integer", "description": "The number of bans so far."},
          "strikes": {"type": "integer", "description": "Refusals since `since`."},
          "since": {"$ref": "#/components/schemas/TimeOrNull", "description": "The time of the first strike."}
        },
        "description": "The strikes and the ban of an id."
      },
      "AuditEntry": {
        "type": "object",
        "required": ["place", "time", "actor", "action", "id", "detail"],
        "properties": {
          "place": {"type": "string", "description": "The place of the entry in the audit."},
          "time": {"$ref": "#/components/schemas/Time", "description": "When it was added."},
          "actor": {"type": "string", "description": "`key:ID` of a request, or `USER@HOST` of a command."},
          "action": {
            "type": "string",
            "description": "What was done: issue, import, set, disable, enable, rotate, revoke or lift."
          },
          "id": {
            "type": "string",
            "pattern": "^[A-Za-z0-9_.-]{0,64}$",
            "description": "The id of the key; empty: many ids, as in the import of a file."
          },
          "detail": {
            "type": "string",
            "description": "The values that were set, such as `plan=pro name=\"A shop\"`: a value with a space or a quotation mark is a JSON string. At most 512 bytes; a longer text ends with `…`."
          }
        },
        "description": "Who did what to which id."
      },
      "AuditPage": {
        "type": "object",
        "required": ["entries", "next", "has_more"],
        "properties": {
          "entries": {"type": "array", "items": {"$ref": "#/components/schemas/AuditEntry"}},
          "next": {
            "type": "string",
            "description": "The value of `after` for later entries, also for those that do not exist yet."
          },
          "has_more": {"type": "boolean", "description": "Whether later entries may exist already."}
        },
        "description": "Some consecutive entries, the oldest first."
      },
      "Error": {
        "type": "object",
        "required": ["code", "message", "status"],
        "properties": {
          "code": {"type": "string", "description": "The kind of the error, for programs."},
          "message": {"type": "string", "description": "The cause, for people."},
          "status": {"type": "integer", "description": "The status of the response."}
        },
        "description": "The body of every error."
      },
      "Usage": {
        "type": "object",
        "required": ["id", "plan", "limits", "state", "banned_until", "complete", "windows"],
        "properties": {
          "id": {"$ref": "#/components/schemas/Id"},
          "plan": {"type": ["string", "null"], "description": "The plan of the key."},
          "limits": {"type": ["string", "null"], "description": "Rates for plans that are `custom`."},
          "state": {"$ref": "#/components/schemas/State"},
          "banned_until": {
            "$ref": "#/components/schemas/TimeOrNull",
            "description": "The end of the ban; null: not banned."
          },
          "complete": {"type": "boolean", "description": "Always true here."},
          "windows": {
            "type": "array",
            "description": "The windows of the plan in each table.",
            "items": {"$ref": "#/components/schemas/WindowUsage"}
          }
        },
        "description": "The counts of an id."
      },
      "WindowUsage": {
        "type": "object",
        "required": ["table", "window", "seconds", "count", "previous", "limit", "used", "remaining", "reset"],
        "properties": {
          "table": {"type": "string", "description": "The plan table."},
          "window": {"type": "string", "description": "The name of the window, such as `minute`."},
          "seconds": {"type": "integer", "description": "Its length."},
          "count": {"type": "integer", "description": "Units counted in the current window."},
          "previous": {
            "type": ["integer", "null"],
            "description": "Units counted in the previous window, if windows slide."
          },
          "limit": {
            "type": ["integer", "null"],
            "description": "The limit; null: unknown, or none: only the history counts this day."
          },
          "used": {"type": "integer", "description": "The part of the limit that is used now."},
          "remaining": {"type": ["integer", "null"], "description": "The part that is left."},
          "reset": {"$ref": "#/components/schemas/Time", "description": "The end of the current window."}
        },
        "description": "The counts of an id in one window."
      },
      "History": {
        "type": "object",
        "required": ["id", "days"],
        "properties": {
          "id": {"$ref": "#/components/schemas/Id"},
          "days": {
            "type": "array",
            "description": "The days and plan tables in which units were granted, the earliest day first.",
            "items": {"$ref": "#/components/schemas/DayUsage"}
          }
        },
        "description": "What an id was granted in each UTC day."
      },
      "DayUsage": {
        "type": "object",
        "required": ["day", "table", "units"],
        "properties": {
          "day": {"$ref": "#/components/schemas/Day", "description": "The UTC day."},
          "table": {"type": "string", "description": "The plan table."},
          "units": {
            "type": "integer",
            "minimum": 1,
            "description": "The units that were granted; of the current day, also those that nodes have leased."
          }
        },
        "description": "What an id was granted in one day in one plan table."
      },
      "Id": {"type": "string", "pattern": "^[A-Za-z0-9_.-]{1,64}$", "description": "The id of the key."},
      "State": {
        "type": "string",
        "enum": ["active", "disabled", "expired", "replaced", "none"],
        "description": "`replaced`: an interrupted rotation has ended the key. `none`: the id has no key."
      },
      "Time": {
        "type": "string",
        "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$",
        "description": "A time in UTC (RFC 3339)."
      },
      "TimeOrNull": {
        "type": ["string", "null"],
        "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$",
        "description": "A time in UTC (RFC 3339), or null."
      },
      "Day": {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$", "description": "A day in UTC."}
    },
    "responses": {
      "Invalid": {
        "description": "A value of the request is not valid.",
        "content": {
          "application/json": {
            "schema": {"$ref": "#/components/schemas/Error"},
            "example": {"code": "invalid_request", "message": "plan: a key needs a plan", "status": 400}
          }
        }
      },
      "Unauthorized": {
        "description": "The request has no valid key.",
        "content": {
          "application/json": {
            "schema": {"$ref": "#/components/schemas/Error"},
            "example": {"code": "invalid_api_key", "message": "The API key is not valid.", "status": 401}
          }
        },
        "headers": {
          "WWW-Authenticate": {"description": "The challenge (RFC 6750).", "required": true, "schema": {"type": "string"}}
        }
      },
      "Forbidden": {
        "description": "The key lacks the scope of the location.",
        "content": {
          "application/json": {
            "schema": {"$ref": "#/components/schemas/Error"},
            "example": {
              "code": "insufficient_scope",
              "message": "This API key does not have the scope that this resource requires.",
              "status": 403
            }
          }
        },
        "headers": {
          "WWW-Authenticate": {
            "description": "The challenge, with the scope that is required (RFC 6750, section 3.1).",
            "required": true,
            "schema": {"type": "string"}
          }
        }
      },
      "Unknown": {
        "description": "There is no such id.",
        "content": {
          "application/json": {
            "schema": {"$ref": "#/components/schemas/Error"},
            "example": {"code": "unknown_id", "message": "unknown id \"acme\"", "status": 404}
          }
        }
      },
      "NotModified": {
        "description": "A tag of If-None-Match is the ETag of the key.",
        "headers": {"ETag": {"$ref": "#/components/headers/ETag"}}
      },
      "PreconditionFailed": {
        "description": "A condition of the request is not met. Nothing has changed.",
        "content": {
          "application/json": {
            "schema": {"$ref": "#/components/schemas/Error"},
            "example": {
              "code": "precondition_failed",
              "message": "the version of \"acme\" does not meet the condition of the request",
              "status": 412
            }
          }
        }
      },
      "TooLarge": {
        "description": "The body is longer than 16,384 bytes.",
        "content": {
          "application/json": {
            "schema": {"$ref": "#/components/schemas/Error"},
            "example": {"code": "content_too_large", "message": "Content Too Large", "status": 413}
          }
        }
      },
      "TooMany": {
        "description": "The quota of the caller's key is exhausted, or too many requests for keys are being handled (`too_many_operations`).",
        "content": {
          "application/json": {
            "schema": {"$ref": "#/components/schemas/Error"},
            "example": {
              "code": "rate_limit_exceeded",
              "message": "The rate limit is exceeded; wait the number of seconds in Retry-After.",
              "status": 429
            }
          }
        },
        "headers": {"Retry-After": {"$ref": "#/components/headers/RetryAfter"}}
      },
      "Unavailable": {
        "description": "Redis is not reachable, or the operation takes more than a minute. It is unknown whether the last step was executed: repeat the request.",
        "content": {
          "application/json": {
            "schema": {"$ref": "#/components/schemas/Error"},
            "example": {"code": "service_unavailable", "message": "Redis is not reachable", "status": 503}
          }
        },
        "headers": {"Retry-After": {"$ref": "#/components/headers/RetryAfter"}}
      },
      "UnsupportedMedia": {
        "description": "The body is not JSON, or it is compressed.",
        "content": {
          "application/json": {
            "schema": {"$ref": "#/components/schemas/Error"},
            "example": {
              "code": "unsupported_media_type",
              "message": "Content-Type: use application/json or application/merge-patch+json",
              "status": 415
            }
          }
        }
      },
      "IdempotencyKeyReused": {
        "description": "A request with another body had the same Idempotency-Key.",
        "content": {
          "application/json": {
            "schema": {"$ref": "#/components/schemas/Error"},
            "example": {
              "code": "idempotency_key_reused",
              "message": "the Idempotency-Key was used for another request",
              "status": 422
            }
          }
        }
      }
    }
  }
})json";
// clang-format on

/// The names of the fields that operations set, with these values, as members of an object. Without
/// values, as elements of a list.
std::string members(std::string_view redis::RecordField::*value) {
    std::string text;
    for (const auto& field : redis::record_fields()) {
        if (field.is_settable) {
            text.append(text.empty() ? "\"" : ", \"").append(field.name).append("\"");
            text.append(value == nullptr ? "" : ": ").append(value == nullptr ? "" : field.*value);
        }
    }
    return text;
}

void replace_all(std::string& text, std::string_view place, std::string_view with) {
    for (auto at = text.find(place); at != std::string::npos; at = text.find(place, at)) {
        text.replace(at, place.size(), with);
        at += with.size();
    }
}

}  // namespace

std::string openapi_document(std::string_view location) {
    std::string document(kDocument);
    location.remove_suffix(location.ends_with('/') ? 1 : 0);
    replace_all(document, kLocation, location.empty() ? "/" : location);
    replace_all(document, kNames, members(nullptr));
    replace_all(document, kShown, members(&redis::RecordField::shown_schema));
    replace_all(document, kSettable, members(&redis::RecordField::new_schema));
    replace_all(document, kExamples, members(&redis::RecordField::example));
    return document;
}

}  // namespace tollgate::management
