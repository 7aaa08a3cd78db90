/* Texts of the reasons. */
#include "core/reason.h"

const char *tenure_reason_name(enum tenure_reason reason)
{
	static const char *const names[TENURE_REASON_COUNT] = {
#define X(code, text) [TENURE_REASON_##code] = text,
		TENURE_REASONS(X)
#undef X
	};

	if ((unsigned)reason >= TENURE_REASON_COUNT)
		return "";
	return names[reason];
}
