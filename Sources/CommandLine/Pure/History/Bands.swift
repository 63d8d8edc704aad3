import NetworkTypes
import RoamwardCore

/// One row of the picture: a name, and what was over the time.
struct Band {
  struct Part {
    var from: Timestamp
    var to: Timestamp
    var text: String
    var style: String
    /// The element of the page that tells more.
    var anchor: String?
  }

  var name: String
  var parts: [Part]
}

/// The rows over one time, as vector graphics.
struct Picture {
  let from: Timestamp
  let to: Timestamp
  let calendar: LocalCalendar

  func html(_ bands: [Band]) -> String {
    let rows = bands.map { band in
      "<div class=\"name\">\(History.html(band.name))</div>"
        + "<svg class=\"band\" viewBox=\"0 0 1000 20\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"\(History.html(band.name))\">"
        + band.parts.map { part($0) }.joined() + "</svg>"
    }
    let marks = (0...4).map { i in
      "<span>\(History.html(calendar.text(from + (to - from) * i / 4)))</span>"
    }
    return "<div class=\"bands\">\n\(rows.joined(separator: "\n"))\n<div></div><div class=\"axis\">\(marks.joined())</div></div>"
  }

  private func part(_ part: Band.Part) -> String {
    let (start, end) = (place(max(part.from, from)), place(min(part.to, to)))
    guard start < end else { return "" }
    let title = "\(calendar.text(part.from)) to \(calendar.text(part.to, after: part.from)): \(part.text)"
    let rect =
      "<rect class=\"\(part.style)\" x=\"\(thousandths(start))\" y=\"0\" width=\"\(thousandths(max(1, end - start)))\" height=\"20\">"
      + "<title>\(History.html(title))</title></rect>"
    return part.anchor.map { "<a href=\"#\($0)\">\(rect)</a>" } ?? rect
  }

  /// From 0 to 1,000,000.
  private func place(_ time: Timestamp) -> Int64 {
    let whole = max(1, (to - from).milliseconds)
    return Int64(Double((time - from).milliseconds) / Double(whole) * 1_000_000)
  }

  private func thousandths(_ number: Int64) -> String { "\(number / 1000).\(digits(Int(number % 1000), 3))" }
}

extension Band {
  /// Networks in the order of their first appearance have colours of their own.
  static func networks(_ spans: [Span<String>], anchor: (Timestamp) -> String?) -> Band {
    var colors: [String: Int] = [:]
    return Band(
      name: "network",
      parts: spans.map { span in
        let color = colors[span.value] ?? colors.count
        colors[span.value] = color
        return Part(
          from: span.from, to: span.to, text: span.value, style: span.value == "no network" ? "none" : "n\(color % 8)",
          anchor: anchor(span.from))
      })
  }

  static func decisions(_ name: String, _ spans: [Span<Decision.Outcome>], anchor: (Timestamp) -> String?) -> Band {
    Band(
      name: name,
      parts: spans.map {
        Part(from: $0.from, to: $0.to, text: $0.value.rawValue, style: $0.value.style, anchor: anchor($0.from))
      })
  }

  static func states(_ name: String, _ spans: [Span<String>]) -> Band {
    Band(name: name, parts: spans.map { Part(from: $0.from, to: $0.to, text: $0.value, style: style(ofState: $0.value)) })
  }

  static func blocked(_ spans: [Span<String>]) -> Band {
    Band(name: "blocked", parts: spans.map { Part(from: $0.from, to: $0.to, text: "blocked: \($0.value) is not up", style: "bad") })
  }

  static func states(_ name: String, _ spans: [Span<Life.State>]) -> Band {
    Band(
      name: name,
      parts: spans.map {
        Part(
          from: $0.from, to: $0.to, text: $0.value.text,
          style: $0.value.outcome == .pending ? "wait" : $0.value.isUp ? "good" : $0.value.isBlocking ? "bad" : "calm")
      })
  }

  private static func style(ofState state: String) -> String {
    switch state {
    case "connected": "good"
    case "connecting", "reasserting", "disconnecting": "wait"
    case "failed": "bad"
    case "armed": "armed"
    default: "plain"
    }
  }
}

extension Decision.Outcome {
  fileprivate var style: String {
    switch self {
    case .connect: "good"
    case .disconnect: "calm"
    case .ignore: "plain"
    case .evaluateConnection: "armed"
    case .pending: "wait"
    }
  }
}

/// The colours of the networks, in the order of their first appearance.
func legend(of networks: [Span<String>]) -> String {
  let parts = Band.networks(networks) { _ in nil }.parts
  var known = Set<String>()
  let names = parts.filter { known.insert($0.text).inserted }.prefix(16)
  return "<p class=\"legend\">"
    + names.map { "<span><i class=\"\($0.style)\"></i>\(html($0.text))</span>" }.joined() + "</p>"
}

/// The colours of decisions and states.
let legend = """
  <p class="legend"><span><i class="good"></i>connect, connected</span><span><i class="calm"></i>disconnect</span>\
  <span><i class="plain"></i>ignore, disconnected</span><span><i class="wait"></i>pending, connecting</span>\
  <span><i class="armed"></i>evaluate-connection, armed</span><span><i class="bad"></i>failed, blocked</span></p>
  """
