import NetworkTypes

/// The value of a fact as text; if it is unknown, the reason.
func describe<Value>(_ fact: Fact<Value>, as key: String, _ text: (Value) -> String) -> String {
  switch fact {
  case .known(let value): text(value)
  case .unknown(let reason): "\(key) is unknown: \(reason)"
  }
}

func list(_ items: some Collection<some CustomStringConvertible>) -> String { items.map(\.description).joined(separator: ", ") }

/// `is one of a, b`, or `is none of a, b`.
func relation(_ holds: Truth, to list: [String]) -> String {
  holds == .yes ? "is \(list.count == 1 ? "" : "one of ")\(list.joined(separator: ", "))" : "is \(none(of: list))"
}

func none(of list: [String]) -> String { list.count == 1 ? "not \(list[0])" : "none of \(list.joined(separator: ", "))" }

extension Fact {
  func truth(_ test: (Value) -> Bool) -> Truth {
    switch self {
    case .known(let value): Truth(test(value))
    case .unknown: .unknown
    }
  }
}
