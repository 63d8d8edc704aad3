internal import JSON
package import RoamwardCore

// The JSON forms of the core's values: each is one text.

extension ReasonCode: JSONEnum {}
extension NameWay: JSONEnum {}
extension Decision.Outcome: JSONEnum, CaseIterable {
  package static let allCases: [Self] = [.connect, .disconnect, .ignore, .evaluateConnection, .pending]
}
