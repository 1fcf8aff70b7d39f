"""A crowd in the studio: people come by a link, and go from consent to a completion code.

Where each is, is a row (`desk`); what is played are studies of their own (`games`), by the sessions and lobbies of the
studio; what it is worth is counted from the recordings (`worth`).

| request of a participant | answer |
|---|---|
| POST /api/crowd/arrivals | {"group", "parameters", "again"?} -> where they are; needs no login, and makes one |
| GET /api/crowd/me | where they are; a page sends it every few seconds |
| POST /api/crowd/me/consent, answers, device, instructed, check | a step further |
| POST /api/crowd/me/place, leave, enter, finish | an assignment; no more waiting; the token to play; the end |
| GET /api/crowd/me/values, standings | what is counted so far; where they stand among all |
| POST /api/crowd/me/texts | a message to the experimenter |

| request of the experimenter | answer |
|---|---|
| GET /api/crowd, PUT /api/crowd/state | who is where; {"paused", "closed"} |
| POST /api/crowd/messages, codes | {"text", "person"?}; {"code"}, which is good once |
| GET, POST /api/crowd/payments | the ledger; {"assignments", "prizes"?} that were paid |
| GET, PUT /api/crowd/declaration | the text, and who saved which version; {"text", "version"} is the next one |
| GET /api/crowd/declaration/{number} | the text of a version |
| POST /api/crowd/declaration/check | {"text"} -> {"problems"}, by field |
| GET /api/crowd/raffle | tickets that were not drawn, their hash, and raffles |
| POST /api/crowd/raffle | {"commitment", "phrase", "prizes", "prize_cents"} draws one |
| GET /api/crowd/payments.csv, bonuses.csv, answers.csv | files |
| GET /api/crowd/people/{id} | what a person sent |
| POST /api/crowd/people/{id}/link, DELETE /api/crowd/people/{id}/personal | a link to come back by; erases the person |

Those who wait for others are connected to /ws/crowd, those who play to /ws/play, as in any study.
"""
