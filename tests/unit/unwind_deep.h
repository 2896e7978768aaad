#ifndef UNWIND_DEEP_H
#define UNWIND_DEEP_H
/* Goes depth calls down, raises SIGUSR1 there, and comes back. */
int unwind_deep(int depth);
#endif
