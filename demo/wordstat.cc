// wordstat: counts the words of a text, finds its dates and proposes corrections for words it does
// not know. Without a file it works on a text of its own making, the same in every run.
//
//   wordstat [--scale=PERCENT] [--threads=N] [--truth] [FILE]
//
// It is the program that `make demo` profiles, so it is written the way programs are that somebody
// wants faster: the work is spread over threads and hidden behind small templates. Three things in
// it are slower than they need be, and a profile should find them:
//
//   nearest_by_edit_distance   compares a misspelt word with the whole dictionary (the planted one)
//   listed                     is handed its list of words by value, so every call copies it
//   date_pattern               is a std::regex that is asked about every line
//
// The program knows the truth about the planted one: it reads its thread's CPU clock before and
// after each call, which takes some hundred microseconds, and with --truth prints what share of
// the whole process' CPU time was spent inside. A profiler's share can be held against that.
#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

// A function that stays one, under its own name: not put into its caller, not cloned.
#if __has_cpp_attribute(gnu::noipa)
#define KEPT_WHOLE [[gnu::noipa]]
#else
#define KEPT_WHOLE [[gnu::noinline]]
#endif

using Words = std::vector<std::string>;

// --- the truth

static std::atomic<uint64_t> planted_ns;

static uint64_t clock_ns(clockid_t clock)
{
    timespec now;
    clock_gettime(clock, &now);
    return uint64_t(now.tv_sec) * 1000000000u + uint64_t(now.tv_nsec);
}

// Adds the CPU time that this thread uses while it lives to planted_ns.
class PlantedSection
{
  public:
    ~PlantedSection()
    {
        planted_ns.fetch_add(clock_ns(CLOCK_THREAD_CPUTIME_ID) - start_ns,
                             std::memory_order_relaxed);
    }

  private:
    const uint64_t start_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
};

// --- the spelling: three templates deep, one hot loop

static constexpr size_t max_word = 31;

struct Match {
    size_t index;
    unsigned distance;
};

// The cost of one letter in place of another: twice as much if different fingers type them. The
// function is small, so the compiler puts it into its caller. A profile should show it there, as
// inlined.
template <class Letter> static inline unsigned substitution_cost(Letter a, Letter b)
{
    static const char finger[32 + 1] = "-03222334545644670313431140-----"; // 'a' is 1
    return finger[a & 31] == finger[b & 31] ? 1u : 2u;
}

// The planted hot function. One row of the distance matrix is kept; columns are the candidate's.
KEPT_WHOLE static Match nearest_by_edit_distance(const std::string &word, const Words &dictionary)
{
    const char *const letters = word.data();
    const size_t length = word.size() < max_word ? word.size() : max_word;
    const std::string *const candidates = dictionary.data();
    const size_t n = dictionary.size();
    Match best = {0, ~0u};
    unsigned row[max_word + 1];

    for (size_t c = 0; c < n; c++) {
        const char *const candidate = candidates[c].data();
        const size_t size = candidates[c].size();
        const size_t columns = size < max_word ? size : max_word;
        for (size_t j = 0; j <= columns; j++)
            row[j] = unsigned(2 * j);
        for (size_t i = 0; i < length; i++) {
            unsigned diagonal = row[0];
            unsigned left = unsigned(2 * i + 2);
            row[0] = left;
            for (size_t j = 0; j < columns; j++) {
                const unsigned above = row[j + 1];
                const unsigned change = letters[i] == candidate[j]
                    ? diagonal
                    : diagonal + substitution_cost(letters[i], candidate[j]);
                const unsigned gap = (above < left ? above : left) + 2;
                left = change < gap ? change : gap;
                row[j + 1] = left;
                diagonal = above;
            }
        }
        if (row[columns] < best.distance) best = {c, row[columns]};
    }
    return best;
}

struct EditDistance {
    static Match nearest(const std::string &word, const Words &dictionary)
    {
        const PlantedSection section;
        return nearest_by_edit_distance(word, dictionary);
    }
};

template <class Metric> class Speller
{
  public:
    explicit Speller(const Words &words) : dictionary(words)
    {
    }

    // The dictionary's word for this one, or "" if it is nowhere near any.
    KEPT_WHOLE std::string correct(const std::string &word) const
    {
        const Match match = suggest(word);
        return match.distance <= 4 ? dictionary[match.index] : std::string();
    }

  private:
    Match suggest(const std::string &word) const
    {
        return Metric::nearest(word, dictionary);
    }

    const Words &dictionary;
};

// --- the text

// The same numbers on every machine: Knuth's MMIX generator, upper bits.
class Random
{
  public:
    explicit Random(uint64_t seed) : state(seed)
    {
    }

    unsigned below(unsigned limit)
    {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return unsigned(state >> 33) % limit;
    }

  private:
    uint64_t state;
};

static Words make_dictionary(size_t size)
{
    static const char *const syllables[] = {"ba", "con", "der", "e",   "fal", "gi",
                                            "ho", "in",  "ka",  "lun", "mor", "ne",
                                            "op", "pra", "re",  "sol", "ta",  "ur"};
    Random random(1732);
    Words words;
    while (words.size() < size) {
        std::string word;
        for (unsigned i = 2 + random.below(3); i > 0; i--)
            word += syllables[random.below(std::size(syllables))];
        if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
    }
    return words;
}

// Lines of twelve words; one word in 200 is misspelt, one line in eight holds a date.
static Words make_text(const Words &dictionary, size_t lines)
{
    Random random(1695);
    Words text(lines);
    for (std::string &line : text) {
        for (int i = 0; i < 12; i++) {
            const unsigned a = random.below(unsigned(dictionary.size()));
            const unsigned b = random.below(unsigned(dictionary.size()));
            std::string word = dictionary[std::min(a, b)];
            if (random.below(200) == 0)
                word[random.below(unsigned(word.size()))] = char('a' + random.below(26));
            line += word + (i == 11 ? "." : " ");
        }
        if (random.below(8) == 0) {
            char date[16];
            snprintf(date, sizeof date, " 17%02u-%02u-%02u", random.below(100),
                     1 + random.below(12), 1 + random.below(28));
            line += date;
        }
    }
    return text;
}

// --- the counting

struct Report {
    std::unordered_map<std::string, unsigned> words;
    std::map<std::string, unsigned> years;
    std::map<std::string, std::string> corrections;
};

static const std::regex &date_pattern()
{
    static const std::regex pattern("\\b(1[0-9]{3})-([01][0-9])-([0-3][0-9])\\b");
    return pattern;
}

KEPT_WHOLE static void find_dates(const std::string &line, Report &report)
{
    std::smatch match;
    if (std::regex_search(line, match, date_pattern())) report.years[match[1]]++;
}

// The needless copy: a list by value.
KEPT_WHOLE static bool listed(Words list, const std::string &word)
{
    return std::find(list.begin(), list.end(), word) != list.end();
}

static Words split(const std::string &line)
{
    Words words(1);
    for (const char c : line) {
        if (isalpha(static_cast<unsigned char>(c)))
            words.back() += char(tolower(static_cast<unsigned char>(c)));
        else if (!words.back().empty())
            words.emplace_back();
    }
    if (words.back().empty()) words.pop_back();
    return words;
}

template <class Metric>
static void count_line(const std::string &line, const Words &dictionary,
                       const Speller<Metric> &speller, Report &report)
{
    static const Words stop_words = {
        "a",    "about",   "after", "all", "and",  "are",   "as",    "at",
        "be",   "been",    "but",   "by",  "for",  "from",  "had",   "has",
        "have", "he",      "her",   "his", "in",   "is",    "it",    "not",
        "of",   "on",      "or",    "she", "that", "the",   "their", "they",
        "this", "through", "to",    "was", "were", "which", "with",  "notwithstanding-that"};
    find_dates(line, report);
    for (const std::string &word : split(line)) {
        if (listed(stop_words, word)) continue;
        report.words[word]++;
        if (!std::binary_search(dictionary.begin(), dictionary.end(), word))
            report.corrections[word] = speller.correct(word);
    }
}

template <class Metric>
static Report count_lines(const Words &text, const Words &dictionary, size_t first, size_t limit)
{
    const Speller<Metric> speller(dictionary);
    Report report;
    for (size_t i = first; i < limit; i++)
        count_line(text[i], dictionary, speller, report);
    return report;
}

static Report count_text(const Words &text, const Words &dictionary, unsigned threads)
{
    std::vector<Report> reports(threads);
    std::vector<std::thread> workers;
    for (unsigned t = 0; t < threads; t++)
        workers.emplace_back([&, t] {
            reports[t] = count_lines<EditDistance>(text, dictionary, text.size() * t / threads,
                                                   text.size() * (t + 1) / threads);
        });
    for (std::thread &worker : workers)
        worker.join();

    Report sum;
    for (const Report &report : reports) {
        for (const auto &[word, count] : report.words)
            sum.words[word] += count;
        for (const auto &[year, count] : report.years)
            sum.years[year] += count;
        sum.corrections.insert(report.corrections.begin(), report.corrections.end());
    }
    return sum;
}

static void print_report(const Report &report)
{
    std::vector<std::pair<std::string, unsigned>> rows(report.words.begin(), report.words.end());
    std::sort(rows.begin(), rows.end(), [](const auto &a, const auto &b) {
        return a.second != b.second ? a.second > b.second : a.first < b.first;
    });
    size_t total = 0;
    for (const auto &row : rows)
        total += row.second;
    size_t corrected = 0;
    for (const auto &[word, correction] : report.corrections)
        corrected += !correction.empty();

    printf("%zu words, %zu different, %zu years named, %zu misspelt, %zu of them corrected\n",
           total, rows.size(), report.years.size(), report.corrections.size(), corrected);
    for (size_t i = 0; i < std::min<size_t>(rows.size(), 5); i++)
        printf("%8u %s\n", rows[i].second, rows[i].first.c_str());
}

static void print_truth()
{
    const uint64_t process_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    printf("truth function=nearest_by_edit_distance planted_ns=%llu process_ns=%llu share=%.5f\n",
           static_cast<unsigned long long>(planted_ns.load()),
           static_cast<unsigned long long>(process_ns),
           double(planted_ns.load()) / double(process_ns));
}

static bool read_lines(const char *path, Words &text)
{
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);)
        text.push_back(line);
    return file.eof();
}

// The number after NAME= in an argument, or false if the argument is another.
static bool number_option(const char *argument, const char *name, unsigned limit, unsigned &value)
{
    const size_t length = strlen(name);
    if (strncmp(argument, name, length) != 0) return false;
    char *end;
    const unsigned long number = strtoul(argument + length, &end, 10);
    if (*end != '\0' || number < 1 || number > limit) {
        fprintf(stderr, "wordstat: %s takes a number from 1 to %u\n", argument, limit);
        exit(2);
    }
    value = unsigned(number);
    return true;
}

int main(int argc, char **argv)
{
    unsigned scale = 100;
    unsigned threads = 4;
    bool truth = false;
    const char *path = nullptr;
    for (int i = 1; i < argc; i++) {
        if (number_option(argv[i], "--scale=", 10000, scale) ||
            number_option(argv[i], "--threads=", 256, threads))
            continue;
        if (strcmp(argv[i], "--truth") == 0) {
            truth = true;
        } else if (argv[i][0] != '-' && path == nullptr) {
            path = argv[i];
        } else {
            fprintf(stderr, "usage: wordstat [--scale=PERCENT] [--threads=N] [--truth] [FILE]\n");
            return 2;
        }
    }

    Words dictionary = make_dictionary(3000);
    Words text;
    if (path == nullptr) {
        text = make_text(dictionary, size_t(scale) * 1000);
    } else if (!read_lines(path, text)) {
        fprintf(stderr, "wordstat: %s: %s\n", path, strerror(errno));
        return 1;
    }
    std::sort(dictionary.begin(), dictionary.end());
    print_report(count_text(text, dictionary, threads));
    if (truth) print_truth();
    return 0;
}
