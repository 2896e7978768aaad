/* shop.c: the service of docs/guide.md. It answers orders that it makes up itself, the same in
 * every run.
 *
 *   shop [--orders=N] [--slow] [--wait] [--hang]
 *
 *   --orders=N  ends after N orders (default 40000); 0 runs until it is stopped
 *   --slow      seals each invoice twice: the change that the guide finds
 *   --wait      waits for a payment after each hundredth order
 *   --hang      waits for a payment that never comes, in a loop
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NOINLINE __attribute__((noinline))

enum { ITEMS = 4000, NAME_BYTES = 16 };

typedef struct {
    char name[NAME_BYTES];
    int price;
} item;

static item items[ITEMS];
static volatile int paid = 1;
static volatile uint64_t seals;

static void fill_items(void)
{
    for (int i = 0; i < ITEMS; i++) {
        snprintf(items[i].name, sizeof items[i].name, "item-%d", i * 7919 % ITEMS);
        items[i].price = 100 + i % 900;
    }
}

/* The planted cause: it compares the name with every item. */
NOINLINE int find_price(const char *name)
{
    for (int i = 0; i < ITEMS; i++) {
        int at = 0;
        while (items[i].name[at] == name[at] && name[at] != '\0')
            at++;
        if (items[i].name[at] == name[at]) return items[i].price;
    }
    return 0;
}

NOINLINE void seal_invoice(int price)
{
    uint64_t seal = (uint64_t)price;
    for (int i = 0; i < 2000; i++)
        seal = (seal ^ (seal >> 29)) * 0xbf58476d1ce4e5b9u;
    seals += seal;
}

NOINLINE void wait_for_payment(void)
{
    const struct timespec pause = {.tv_nsec = 5000000};
    nanosleep(&pause, NULL);
}

NOINLINE void poll_payment(void)
{
    while (!paid)
        seals++;
}

NOINLINE void answer_order(unsigned number, int slow)
{
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "item-%u", number * 2654435761u % ITEMS);
    const int price = find_price(name);
    seal_invoice(price);
    if (slow) seal_invoice(price);
}

int main(int argc, char **argv)
{
    unsigned long orders = 40000;
    int slow = 0, wait = 0;
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--orders=", 9) == 0) orders = strtoul(argv[i] + 9, NULL, 10);
        slow |= strcmp(argv[i], "--slow") == 0;
        wait |= strcmp(argv[i], "--wait") == 0;
        if (strcmp(argv[i], "--hang") == 0) paid = 0;
    }
    fill_items();
    for (unsigned long i = 0; orders == 0 || i < orders; i++) {
        answer_order((unsigned)i, slow);
        if (wait && i % 100 == 0) wait_for_payment();
        if (!paid) poll_payment();
    }
    return 0;
}
