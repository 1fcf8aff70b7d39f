"""The studio over HTTP: JSON under /api.

| request | answer |
|---|---|
| GET /api/about | {"mode": "studio", "version", "tasks"}; needs no login |
| POST /api/login | {"token"}, {"invitation", "name", "email"?} or {"study", "name"?, "participant"?} -> the account |
| POST /api/logout | ends the login |
| GET /api/me | the account; 401 without one |
| POST /api/invitations | {"role", "uses", "days"} -> the token for a link |
| GET, POST /api/studies | those that one may see; a new one |
| GET, PUT /api/studies/{id} | one, also `?version=`; its next version |
| PUT /api/studies/{id}/state | {"enabled"} |
| GET /api/environments | ids that can be made |
| GET /api/environments/{id}/schema | JSON schema of the keyword arguments |
| POST /api/environments/seats | {"environment"} -> its seats, with their keys |
| POST /api/environments/check | {"environments"} -> whether one study can have them, and if not, why |
| POST /api/sessions | {"study", "environment"} -> an open session, and the token for /ws/play |
| POST /api/sessions/{id}/look | the token to observe |
| GET /api/sessions/{id}/participations | who was in which seat, and when |
| GET /api/sessions/{id}, POST /api/sessions/{id}/end | a session |
| GET /api/episodes | ?study&session&status&user&tag&page&size&sort |
| GET, DELETE /api/episodes/{id} | an episode |

Bodies and answers have `"v": 1`. Errors are {"v": 1, "error": {"code", "message", "where"}}. Programs send the token of
a login as `Authorization: Bearer TOKEN`; browsers have it in a cookie and must send their Origin with what changes
something. So does a WebSocket, which needs a login, too.

For modules of other routes: `guard.account_of(connection)` gives the account of a request, also of a WebSocket;
`body.read` and `answer.answer` read and write JSON; `errors.ApiError` is what to raise; `accounts.permissions.require`
decides.
"""
