-- The scripts that Redis runs. make_script() replaces the names with k by their values in schema.hpp.
std = "lua51"
max_line_length = 125
globals = {"ARGV", "KEYS"}
read_globals = {"redis", "struct", "rare", "ban_field", "lease_field", "notice_field", "window_part", "kBalanceLeft",
                "kBalanceLength", "kBanKey", "kCounted", "kCredited", "kEventsKey", "kLastCredit", "kMostNotices", "kMostUnits",
                "kNoticesKept", "kPlacesOf", "kQuotaKey", "kRecallOf", "kReportNumber", "kSubjectUse"}
-- t/run --lint checks these as one.
exclude_files = {"module/redis/protocol/scripts/acquire.lua", "module/redis/protocol/scripts/acquire/*.lua"}
