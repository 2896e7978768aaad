# cause: logging handle
# Each order is logged.
import logging
logging.basicConfig(filename='/dev/null', level=logging.INFO, format='%(asctime)s %(name)s %(levelname)s %(message)s')
log = logging.getLogger('shop')
def handle(order):
    log.info('order %s of customer %s', order, order % 7)
    return order * 2
print(sum(handle(i) for i in range(60000)))
