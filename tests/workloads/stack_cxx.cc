/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ways to one function through what C++ has: methods, templates, inlined functions, virtual calls,
 * callbacks of the standard library, catch blocks, threads. Every function on the way notes its name
 * as a demangler writes it; see known.h.
 */
#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>
#include "known.h"

static volatile uint64_t sink;
static uint64_t recursion = 120;

extern "C" KNOWN __attribute__((used)) uint64_t stack_leaf(uint64_t i)
{
	return sink += i;
}

#define NOTE(name) known_enter(name, __builtin_return_address(0))

namespace walk {

KNOWN void leaf(const char *path)
{
	uint64_t begin = known_now();

	NOTE("walk::leaf(char const*)");
	stack_leaf(1);
	known_write(path, "entry", begin, known_now());
	known_leave();
}

/* Never a frame of its own. */
template <class F> static inline __attribute__((always_inline)) void inlined(F f)
{
	f();
	sink++;
}

struct shape {
	virtual ~shape() = default;
	virtual void draw(const char *path) const = 0;
};

template <class T> struct box : shape {
	T value;
	explicit box(T v) : value(v) {}
	KNOWN void draw(const char *path) const override;
};

template <> KNOWN void box<int>::draw(const char *path) const
{
	NOTE("walk::box<int>::draw(char const*) const");
	inlined([=] { inlined([=] { leaf(path); }); });
	known_leave();
}

template <class T, unsigned long N> KNOWN void through(T value, const char *path)
{
	NOTE("void walk::through<int, 7ul>(int, char const*)");
	box<T> b(value);
	const shape *volatile s = &b;

	s->draw(path);
	known_leave();
}

/* A function for each level. */
template <int N> struct level {
	static KNOWN void down(const char *path)
	{
		static const char names[][48] = {"walk::level<0>::down(char const*)",
						 "walk::level<1>::down(char const*)",
						 "walk::level<2>::down(char const*)"};

		NOTE(names[N]);
		if constexpr (N > 0)
			inlined([=] { level<N - 1>::down(path); });
		else
			leaf(path);
		known_leave();
	}
};

KNOWN void caught(const char *path)
{
	NOTE("walk::caught(char const*)");
	try {
		throw std::runtime_error(path);
	} catch (const std::exception &e) {
		level<1>::down(path);
		sink += *e.what();
	}
	known_leave();
}

KNOWN bool before(int a, int b)
{
	static bool done;

	NOTE("walk::before(int, int)");
	if (!done) {
		done = true;
		leaf("sort");
	}
	known_leave();
	return a < b;
}

KNOWN void sorted()
{
	std::vector<int> v;

	NOTE("walk::sorted()");
	for (int i = 0; i < 100; i++)
		v.push_back(i * 37 % 101);
	std::sort(v.begin(), v.end(), before);
	sink += (uint64_t)v[3];
	known_leave();
}

KNOWN void called(const std::function<void(const char *)> &f)
{
	NOTE("walk::called(std::function<void (char const*)> const&)");
	f("function");
	known_leave();
}

KNOWN void deep(const std::string &path, uint64_t left)
{
	NOTE("walk::deep(std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > const&, "
	     "unsigned long)");
	if (left)
		deep(path, left - 1);
	else
		leaf(path.c_str());
	known_leave();
}

KNOWN void sleep()
{
	uint64_t begin = known_now();

	NOTE("walk::sleep()");
	usleep(20000);
	known_write("sleep", "block", begin, known_now());
	known_leave();
}

KNOWN void in_thread()
{
	NOTE("walk::in_thread()");
	level<2>::down("thread");
	sleep();
	known_leave();
}

} // namespace walk

int main(int argc, char **argv)
{
	NOTE("main");
	known_begin(argc, argv, &recursion);
	walk::through<int, 7>(4, "virtual");
	walk::level<2>::down("levels");
	walk::caught("catch");
	walk::sorted();
	walk::called(walk::leaf);
	walk::deep("deep", recursion);
	std::thread(walk::in_thread).join();
	return known_end();
}
