// The words of the protocol, as programs print them: this target has no names of its own for its members.

extension ProviderEndpoint.State: CustomStringConvertible { public var description: String { rawValue } }
extension ProviderSession.State: CustomStringConvertible { public var description: String { rawValue } }
extension LogLine.Level: CustomStringConvertible { public var description: String { rawValue } }
extension Transport: CustomStringConvertible { public var description: String { rawValue } }
extension Question.Kind: CustomStringConvertible { public var description: String { rawValue } }
extension AnswerOutcome: CustomStringConvertible { public var description: String { rawValue } }
extension TunnelFailure.Help: CustomStringConvertible { public var description: String { rawValue } }
extension NetworkPath.Kind: CustomStringConvertible { public var description: String { rawValue } }
extension StopReason: CustomStringConvertible { public var description: String { rawValue } }
