# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034 # variables of run and of the other sections
# Naming 10,000 addresses of one large C++ program with lines and inlined functions, beside addr2line, which
# is given them all at once. The program is the one with debug information that LARGE_PROGRAM names, clang's own
# library where its debug information is installed, or else one that is made of templates here.

# One unit: a few dozen of everything that std:: makes of a type.
templates() { # NUMBER
	cat <<END
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>
namespace unit_$1 {
using value = std::variant<int, double, std::string>;
template <int I> struct key {
	std::string name = std::to_string(I);
	bool operator<(const key &o) const { return name < o.name; }
};
template <int I> struct table {
	std::map<key<I>, std::vector<value>> rows;
	std::unordered_map<std::string, std::shared_ptr<key<I>>> index;
	void put(const std::string &s)
	{
		auto k = std::make_shared<key<I>>();
		k->name = s + "$1";
		rows[*k].emplace_back(I);
		rows[*k].emplace_back(s);
		index.emplace(s, std::move(k));
	}
	template <class F> long each(F f) const
	{
		long sum = 0;
		for (const auto &r : rows)
			sum += std::accumulate(r.second.begin(), r.second.end(), 0l,
					       [&](long a, const auto &v) { return a + f(r.first, v); });
		return sum;
	}
};
template <int I> long work(std::vector<std::string> words)
{
	table<I> t;
	std::stable_sort(words.begin(), words.end(), [](const auto &a, const auto &b) { return a.size() + I % 3 < b.size(); });
	for (auto &w : words) {
		std::ostringstream out;
		out << w << I;
		t.put(w);
		t.put(out.str());
	}
	std::function<long(const key<I> &, const value &)> f = [&](const auto &k, const auto &v) {
		return (long)(k.name.size() + v.index() * I);
	};
	return t.each(f);
}
template <int... I> long all(const std::vector<std::string> &w, std::integer_sequence<int, I...>)
{
	return (work<I>(w) + ... + 0l);
}
}
extern "C" long of_unit() { return unit_$1::all({"a", "b"}, std::make_integer_sequence<int, 24>()); }
END
}

# Two units that differ, twenty times each under other names, as compiling forty would take minutes.
make_large() {
	local unit copy
	for unit in 0 1; do
		templates $unit >"$tmp/unit$unit.cc"
		{
			g++ -std=c++17 -O2 -g -fno-gnu-unique -c "$tmp/unit$unit.cc" -o "$tmp/unit$unit.o" &&
				ld -r --force-group-allocation "$tmp/unit$unit.o" -o "$tmp/whole$unit.o" &&
				objcopy --keep-global-symbol=of_unit "$tmp/whole$unit.o"
		} >"$tmp/made$unit" 2>&1 &
		running+=($!)
	done
	wait "${running[@]}"
	running=()
	for unit in 0 1; do
		for copy in {1..20}; do
			objcopy --redefine-sym of_unit=of_unit_${unit}_$copy "$tmp/whole$unit.o" "$tmp/copy_${unit}_$copy.o" || return
			echo "extern \"C\" long of_unit_${unit}_$copy(); long (*volatile pointer_${unit}_$copy)() = of_unit_${unit}_$copy;"
		done
	done >"$tmp/main.cc" 2>"$tmp/made"
	echo 'int main() { return 0; }' >>"$tmp/main.cc"
	g++ -g "$tmp/main.cc" "$tmp"/copy_*.o -o "$tmp/large" >"$tmp/made" 2>&1
	local status=$?
	rm -f "$tmp"/copy_*.o "$tmp"/whole?.o "$tmp"/unit?.o
	return $status
}

build_id() { # FILE
	readelf -n "$1" 2>/dev/null | sed -n 's/.*Build ID: //p'
}

# The program, where its symbols are, and what it is.
large_program() {
	local library id
	if [ -n "${LARGE_PROGRAM:-}" ]; then
		large=$LARGE_PROGRAM symbols=$large large_is="${large##*/}, $(($(stat -c %s "$large") >> 20)) MiB"
		return
	fi
	for library in /usr/lib/llvm-*/lib/libclang-cpp.so.*; do
		id=$(build_id "$library")
		[ -r "/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug" ] || continue
		large=$library symbols=/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug
		large_is="clang's library"
		return
	done
	progress "symbols: building a large program"
	make_large || return
	large=$tmp/large symbols=$tmp/large large_is="a C++ program of $(($(stat -c %s "$tmp/large") >> 20)) MiB"
}

# 10,000 addresses, spread over all functions and in them.
addresses() { # FILE WITH SYMBOLS
	nm --defined-only -S "$1" | awk 'NF == 4 && $3 ~ /[tTwW]/ && !seen[$1]++ { print $1, $2 }' | sort |
		awk 'function number(s,    i, n) {
				for (i = 1; i <= length(s); i++)
					n = 16 * n + index("0123456789abcdef", substr(s, i, 1)) - 1
				return n
			}
			{ at[NR] = $1; size[NR] = $2 }
			END { for (i = 0; i < 10000; i++) {
				f = 1 + int(i * NR / 10000)
				printf "0x%x\n", number(at[f]) + i * 7919 % number(size[f])
			} }' | sort -u
}

# Rounds of both on one file.
name_all() { # NAME FILE
	local round n=$((rounds < 3 ? rounds : 3)) id
	id=$(build_id "$2")
	for ((round = 1; round <= n; round++)); do
		progress "symbols: $1, round $round of $n"
		"$bench/naming" "$2" "$id" <"$tmp/addresses" >"$tmp/ours" 2>"$tmp/said" || return
		sample "symbols.$1" "$round" "$(sed -n 's/^seconds \([0-9.]*\) .*/\1/p' "$tmp/said")"
		timed sh -c "addr2line -a -f -i -C -e '$2' <'$tmp/addresses' >'$tmp/theirs'" || return
		sample "symbols.$1.addr2line" "$round" "$wall"
	done
}

section_symbols() {
	local count large symbols large_is tool what="naming addresses of a large C++ program"
	for tool in addr2line g++ ld objcopy nm readelf; do
		have $tool && continue
		skipped symbols.time "$what" "$tool is not installed"
		return
	done
	large_program || {
		cat "$tmp"/made* >"$tmp/why"
		failed symbols.time "$what" "it cannot be built: $(last_words "$tmp/why")"
		return
	}
	addresses "$symbols" >"$tmp/addresses"
	count=$(wc -l <"$tmp/addresses")
	name_all time "$large" || {
		failed symbols.time "$what" "$(last_words "$tmp/said")"
		return
	}
	row_beside symbols.time "naming $count addresses of $large_is, with inlined functions and lines" symbols.time s \
		"addr2line -a -f -i -C" symbols.time.addr2line "<= 0.20"
	row symbols.named "of these with function and line" "$(sed -n 's/.* lined \([0-9]*\)$/\1/p' "$tmp/said")" addresses
	# addr2line gives an address, and then a function and a place a frame, from the innermost on.
	row symbols.same "of these with the innermost line number that addr2line gives" "$(awk '
		FNR == NR { sub(/^.*:/, "", $2); ours[$1] = $2; next }
		/^0x/ { address = $1; n = 0; next }
		++n == 2 { sub(/ \(discriminator.*/, ""); sub(/^.*:/, ""); sub(/^\?$/, "0"); same += ours[address] == $0 }
		END { print same + 0 }' "$tmp/ours" "$tmp/theirs")" addresses
	# Distributions ship debug files like this.
	if objcopy --compress-debug-sections=zlib "$large" "$tmp/compressed" 2>"$tmp/said" && name_all compressed "$tmp/compressed"; then
		row_beside symbols.compressed "the same with debug sections that are compressed" symbols.compressed s \
			"addr2line -a -f -i -C" symbols.compressed.addr2line "<= 0.20"
	else
		failed symbols.compressed "the same, compressed" "$(last_words "$tmp/said")"
	fi
	rm -f "$tmp/compressed"
}
