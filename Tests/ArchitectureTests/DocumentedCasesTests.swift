import LinuxIO
import Testing

/// Each case of an enumeration that users write or see has a sentence of its own.
@Suite struct DocumentedCasesTests {
  static let enumerations = [
    ("NetworkTypes/InterfaceType", "InterfaceType"), ("RoamwardCore/FactTable/Condition", "Condition"),
    ("RoamwardCore/Policy/Rule", "Action"),
    ("RoamwardCore/Policy/Rule", "UnknownPolicy"), ("RoamwardCore/Policy/ConnectionRule", "Action"),
    ("RoamwardCore/Snapshot/NetworkSnapshot", "FactKind"),
    ("KernelModel/Steps/Step", "Step"), ("RoamwardCore/Evaluation/Decision", "Outcome"), ("RoamwardCore/Evaluation/Decision", "Inert"),
    ("RoamwardCore/Reasons/ReasonCode", "ReasonCode"), ("RoamwardCore/Reasons/WakeReason", "WakeReason"),
    ("ControlProtocol/Events/Event", "Kind"), ("ControlProtocol/Status/FirewallStatus", "Situation"),
  ]

  @Test("each case has a sentence", arguments: enumerations)
  func cases(file: String, name: String) throws {
    let path = sources(of: String(file.prefix { $0 != "/" }))
    let text = String(decoding: try TextFile.read("\(path)/\(file.drop { $0 != "/" }).swift"), as: UTF8.self)
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    let start = try #require(lines.firstIndex { $0.contains("enum \(name): ") }, "\(file)")
    let indent = lines[start].prefix { $0 == " " }
    let body = lines[start...].dropFirst().prefix { $0 != "\(indent)}" }
    let cases = body.indices.filter { body[$0].hasPrefix("\(indent)  case ") }
    #expect(!cases.isEmpty, "\(file)")
    for index in cases {
      let isDocumented = body[index - 1].hasPrefix("\(indent)  /// ")
      #expect(isDocumented, "\(name): \(body[index])")
      let names = body[index].prefix { $0 != "(" }
      #expect(!names.contains(","), "one case a line: \(names)")
    }
  }
}
