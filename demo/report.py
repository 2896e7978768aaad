"""report.py: the slow script of docs/guide.md. It counts the orders of each customer."""


def load_orders(count):
    return [f"customer-{i * 7919 % 1500}" for i in range(count)]


def count_orders(orders):
    seen, counts = [], []
    for customer in orders:
        if customer not in seen:
            seen.append(customer)
            counts.append(0)
        counts[seen.index(customer)] += 1
    return dict(zip(seen, counts))


def print_report(counts):
    for customer in sorted(counts):
        print(customer, counts[customer])


print_report(count_orders(load_orders(60000)))
