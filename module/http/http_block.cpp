#include "module/http/http_block.hpp"

namespace tollgate::http {

MainConf& MainConf::of(ngx_conf_t* cf) {
    return HttpBlock::of(cf).conf;
}

const MainConf& MainConf::of(ngx_http_request_t* r) {
    return HttpBlock::of(r).conf;
}

}  // namespace tollgate::http
