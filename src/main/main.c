/* main.c: the command line program; see cmd.h for its parts. */
#include "cmd/cmd.h"

int main(int argc, char **argv)
{
    return pt_cmd_main(argc, argv);
}
