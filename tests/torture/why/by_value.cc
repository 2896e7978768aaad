// cause: copying-objects main
// A document is passed by value to a template.
#include <cstdio>
#include <string>
#include <vector>
struct Doc {
    std::string title, body;
    std::vector<std::string> tags;
};
template <class T> int score(T doc)
{
    return (int)doc.body.size() + (int)doc.tags.size();
}
int main()
{
    std::vector<Doc> d(200, Doc{"a title of a document, long",
                                std::string(300, 'x'),
                                {"one tag of some length", "two tags of some length", "three"}});
    long s = 0;
    for (int i = 0; i < 3000; i++)
        for (auto &x : d)
            s += score(x);
    std::printf("%ld\n", s);
}
