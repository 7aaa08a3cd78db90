/* An elector without a supervisor is told that its services are out of office: it ends the session. */
#ifndef TENURE_ELECTOR_RELEASE_H
#define TENURE_ELECTOR_RELEASE_H

struct shell;

/* Once, when the supervisor is gone. Without it the session is kept for orphan_limit. */
void release_await(struct shell *shell);

#endif
