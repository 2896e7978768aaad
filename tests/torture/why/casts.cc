// cause: casts Scene::area
// Shapes are told apart with dynamic_cast.
#include <cstdio>
#include <memory>
#include <vector>

struct Shape {
    virtual ~Shape() = default;
};
struct Solid : Shape {
    double size = 1;
};
struct Circle : Solid {
};
struct Square : Solid {
};
struct Star : Solid {
};

class Scene
{
    std::vector<std::unique_ptr<Shape>> shapes_;

  public:
    Scene()
    {
        for (int i = 0; i < 1000; i++)
            if (i % 3 == 0)
                shapes_.push_back(std::make_unique<Circle>());
            else if (i % 3 == 1)
                shapes_.push_back(std::make_unique<Square>());
            else
                shapes_.push_back(std::make_unique<Star>());
    }
    __attribute__((noinline)) double area(size_t first) const
    {
        double sum = 0;
        for (size_t i = first; i < shapes_.size(); i++)
            if (const auto *circle = dynamic_cast<const Circle *>(shapes_[i].get()))
                sum += 3.14 * circle->size;
            else if (const auto *square = dynamic_cast<const Square *>(shapes_[i].get()))
                sum += square->size;
        return sum;
    }
};

int main()
{
    const Scene scene;
    double sum = 0;
    for (int i = 0; i < 15000; i++)
        sum += scene.area(static_cast<size_t>(i & 7));
    std::printf("%f\n", sum);
}
