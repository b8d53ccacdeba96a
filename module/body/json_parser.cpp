#include "module/body/json_parser.hpp"

#include <algorithm>
#include <cstring>

namespace tollgate::body {

/// The functions that yajl calls. It keeps pointers to the tables.
struct YajlFunctions {
    static JsonParser& parser(void* context) { return *static_cast<JsonParser*>(context); }
    static std::string_view view(const unsigned char* text, std::size_t size) {
        return {reinterpret_cast<const char*>(text), size};
    }

    static int on_null(void* context) noexcept {
        parser(context).values_.on_null();
        return 1;
    }
    static int on_truth(void* context, int value) noexcept {
        parser(context).values_.on_truth(value != 0);
        return 1;
    }
    static int on_string(void* context, const unsigned char* text, std::size_t size) noexcept {
        parser(context).values_.on_string(view(text, size));
        return 1;
    }
    static int on_number(void* context, const char* text, std::size_t size) noexcept {
        parser(context).values_.on_number({text, size});
        return 1;
    }
    static int on_name(void* context, const unsigned char* text, std::size_t size) noexcept {
        parser(context).values_.on_name(view(text, size));
        return 1;
    }
    static int on_object(void* context) noexcept {
        parser(context).values_.on_object();
        return parser(context).begin_container() ? 1 : 0;
    }
    static int on_array(void* context) noexcept {
        parser(context).values_.on_array();
        return parser(context).begin_container() ? 1 : 0;
    }
    static int on_end(void* context) noexcept {
        JsonParser& parser = YajlFunctions::parser(context);
        parser.values_.on_end();
        parser.has_ended_ = --parser.depth_ == 0;
        return 1;
    }

    static void* allocate(void* context, std::size_t size) noexcept {
        return parser(context).allocate(size);
    }
    /// yajl only enlarges. The new memory is behind the old one, so all that is copied is readable.
    static void* reallocate(void* context, void* old, std::size_t size) noexcept {
        void* enlarged = parser(context).allocate(size);
        if (old != nullptr && enlarged != nullptr) {
            const auto between = static_cast<std::byte*>(enlarged) - static_cast<std::byte*>(old);
            std::memcpy(enlarged, old, std::min(size, static_cast<std::size_t>(between)));
        }
        return enlarged;
    }
    static void free(void* /*context*/, void* /*memory*/) noexcept {}

    static constexpr yajl_callbacks kCallbacks{
        .yajl_null = on_null,
        .yajl_boolean = on_truth,
        .yajl_integer = nullptr,
        .yajl_double = nullptr,
        .yajl_number = on_number,
        .yajl_string = on_string,
        .yajl_start_map = on_object,
        .yajl_map_key = on_name,
        .yajl_end_map = on_end,
        .yajl_start_array = on_array,
        .yajl_end_array = on_end,
    };
};

void JsonParser::parse(std::string_view piece) noexcept {
    has_failed_ = has_failed_ ||
                  !cutter_.pass(piece, [&](std::string_view kept) { return parse_whole(kept); });
}

void JsonParser::restart() {
    cutter_ = {};
    yajl_ = nullptr;
    depth_ = 0;
    has_ended_ = false;
    has_failed_ = false;
    used_ = 0;
}

/// Nothing is freed before restart(). nullptr if nothing is left, which yajl does not expect:
/// kMemory is for the worst case, and a unit test compares.
void* JsonParser::allocate(std::size_t size) {
    const std::size_t rounded = (size + kAlignment - 1) / kAlignment * kAlignment;
    if (rounded > memory_.size() - used_) {
        return nullptr;
    }
    void* allocated = memory_.data() + used_;
    used_ += rounded;
    most_used_ = std::max(most_used_, used_);
    return allocated;
}

bool JsonParser::parse_whole(std::string_view piece) noexcept {
    if (yajl_ == nullptr) {
        allocator_ = {.malloc = YajlFunctions::allocate,
                      .realloc = YajlFunctions::reallocate,
                      .free = YajlFunctions::free,
                      .ctx = this};
        yajl_ = yajl_alloc(&YajlFunctions::kCallbacks, &allocator_, this);
        // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): the library's interface
        yajl_config(yajl_, yajl_dont_validate_strings, 1);
    }
    return yajl_parse(yajl_, reinterpret_cast<const unsigned char*>(piece.data()), piece.size()) ==
           yajl_status_ok;
}

bool JsonParser::begin_container() {
    return ++depth_ <= kMostDepth;
}

}  // namespace tollgate::body
