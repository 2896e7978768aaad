#pragma once
/* Goes depth calls down, raises SIGUSR1 there, and comes back. */
int unwind_deep(int depth);
