/* What libtenure shows to the programs that link it; everything else is hidden. */
#ifndef TENURE_EXPORT_H
#define TENURE_EXPORT_H

#if defined(__GNUC__)
#define TENURE_API __attribute__((visibility("default")))
#else
#define TENURE_API
#endif

#endif
