import NetworkTypes

/// Text for an HTML page: markup is escaped, and so are characters that hide text or change its order.
func html(_ text: String) -> String {
  var result = ""
  result.reserveCapacity(text.utf8.count)
  for character in escaped(text).unicodeScalars {
    switch character {
    case "&": result += "&amp;"
    case "<": result += "&lt;"
    case ">": result += "&gt;"
    case "\"": result += "&quot;"
    case "'": result += "&#39;"
    default: result.unicodeScalars.append(character)
    }
  }
  return result
}

/// A page that needs nothing but itself: no scripts at all, and a policy by which the browser loads nothing.
func page(title: String, _ body: [String]) -> String {
  """
  <!DOCTYPE html>
  <html lang="en">
  <head>
  <meta charset="utf-8">
  <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'nonce-page'; base-uri 'none'; form-action 'none'">
  <meta name="referrer" content="no-referrer">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>\(html(title))</title>
  <style nonce="page">
  \(styles)
  </style>
  </head>
  <body>
  <h1>\(html(title))</h1>
  \(body.joined(separator: "\n"))
  </body>
  </html>

  """
}

/// A table; cells are text.
func table(_ head: [String], _ rows: [[String]]) -> String {
  let heads = head.map { "<th scope=\"col\">\(html($0))</th>" }.joined()
  let lines = rows.map { row in "<tr>" + row.map { "<td>\(html($0))</td>" }.joined() + "</tr>" }
  return "<table><thead><tr>\(heads)</tr></thead><tbody>\n\(lines.joined(separator: "\n"))\n</tbody></table>"
}

private let styles = """
  :root { color-scheme: light dark; --line: #8884; --text: #1b1f24; --back: #fff; --soft: #f3f4f6; --mark: #fff3c4; }
  @media (prefers-color-scheme: dark) { :root { --text: #e6e8eb; --back: #14171a; --soft: #20252b; --mark: #4a3f12; } }
  body { font: 15px/1.45 system-ui, sans-serif; color: var(--text); background: var(--back); max-width: 1080px; margin: 2rem auto;
    padding: 0 1rem; }
  h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; } h3 { font-size: 1rem; margin: 0 0 .3rem; }
  code, td, pre { font-variant-numeric: tabular-nums; } pre, code { font-family: ui-monospace, monospace; font-size: .9em; }
  table { border-collapse: collapse; width: 100%; } th, td { text-align: left; padding: .25rem .6rem .25rem 0; vertical-align: top;
    border-bottom: 1px solid var(--line); } th { font-weight: 600; }
  .bands { display: grid; grid-template-columns: max-content 1fr; gap: .3rem .8rem; align-items: center; }
  .bands .name { white-space: nowrap; max-width: 16rem; overflow: hidden; text-overflow: ellipsis; }
  svg.band { width: 100%; height: 22px; background: var(--soft); border-radius: 3px; display: block; }
  svg.band rect { stroke: var(--back); stroke-width: .4; vector-effect: non-scaling-stroke; }
  svg.band a:focus rect, svg.band a:hover rect { opacity: .7; }
  .axis { display: flex; justify-content: space-between; font-size: .8rem; opacity: .75; }
  .legend { font-size: .8rem; margin: .6rem 0; } .legend span { display: inline-block; margin-right: 1rem; }
  .legend i { display: inline-block; width: .8em; height: .8em; margin-right: .3em; border-radius: 2px; }
  .good { fill: #2da44e; background: #2da44e; } .calm { fill: #9aa4af; background: #9aa4af; } .wait { fill: #d4a72c; background: #d4a72c; }
  .bad { fill: #cf222e; background: #cf222e; } .armed { fill: #4493f8; background: #4493f8; } .plain { fill: #c4cbd3; background: #c4cbd3; }
  .n0 { fill: #4c78a8; background: #4c78a8; } .n1 { fill: #f58518; background: #f58518; } .n2 { fill: #54a24b; background: #54a24b; }
  .n3 { fill: #b279a2; background: #b279a2; } .n4 { fill: #e45756; background: #e45756; } .n5 { fill: #72b7b2; background: #72b7b2; }
  .n6 { fill: #eeca3b; background: #eeca3b; } .n7 { fill: #9d755d; background: #9d755d; } .none { fill: #d8dde3; background: #d8dde3; }
  section.moment, section.rules { border: 1px solid var(--line); border-radius: 6px; padding: .6rem .9rem; margin: .6rem 0; }
  section:target { background: var(--mark); } .rule { margin: .3rem 0 .5rem; } .rule.decides { border-left: 3px solid #2da44e;
    padding-left: .6rem; } .yes { color: #1a7f37; } .no { color: #cf222e; } .unknown { color: #9a6700; } ul { margin: .2rem 0;
    padding-left: 1.2rem; } .note { background: var(--soft); border-left: 3px solid #d4a72c; padding: .4rem .8rem; }
  """
