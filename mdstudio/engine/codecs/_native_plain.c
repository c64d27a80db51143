/* The inverse for every processor: SSE2 where the platform has it, else plain C. */
#define MD_INVERSE md_inverse_plain
#include "_native_inverse_body.h"
