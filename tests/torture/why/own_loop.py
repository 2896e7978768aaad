# own: mandelbrot
# Python's own code is hot.
def mandelbrot(x, y):
    a = b = 0.0
    for i in range(200):
        a, b = a * a - b * b + x, 2 * a * b + y
    return a < 2


def main():
    for y in range(60):
        for x in range(100):
            mandelbrot(x / 400 - 0.2, y / 400 - 0.2)


main()
