# cause: queries load_orders
# A statement for each customer, without an index.
import sqlite3
db = sqlite3.connect(':memory:')
db.execute('create table orders(id integer, customer integer, total integer)')
db.executemany('insert into orders values(?,?,?)', [(i, i % 500, i) for i in range(20000)])
def load_orders(customer):
    return db.execute('select sum(total) from orders where customer = ?', (customer,)).fetchone()[0]
def report():
    return sum(load_orders(c) for c in range(500))
print(report() + report())
