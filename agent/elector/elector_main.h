/* The elector's way in: `tenured --elector -c FILE [-o KEY=VALUE]...`, started by the supervisor alone. */
#ifndef TENURE_ELECTOR_ELECTOR_MAIN_H
#define TENURE_ELECTOR_ELECTOR_MAIN_H

int elector_main(int argc, char **argv);

#endif
