// Writes a profile of OTLP, as version 1.11.0 of its protocol has it: with the
// types that the OpenTelemetry project generates from that version's definition.
// With an argument, it reads a profile from standard input and prints the frames
// of its samples instead.
package main

import (
	"fmt"
	"io"
	"os"

	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	profiles "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"
	resource "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	"google.golang.org/protobuf/proto"
)

func text(s string) *common.AnyValue {
	return &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: s}}
}

func write() {
	d := &profiles.ProfilesDictionary{
		StringTable: []string{"", "process.executable.build_id.gnu",
			"process.executable.build_id.htlhash", "/usr/bin/app", "cpu",
			"nanoseconds", "kept", "thread.name", "count"},
		AttributeTable: []*profiles.KeyValueAndUnit{{},
			{KeyStrindex: 1, Value: text("9a2b77f0c1d35ec6a86f0ba5aa3cde21f2a7a001")},
			{KeyStrindex: 2, Value: text("a7e79e8a85da69bad5c3fea209342ac9")},
			{KeyStrindex: 7, Value: text("main"), UnitStrindex: 8}},
		MappingTable: []*profiles.Mapping{{},
			{MemoryStart: 0x7f0000002000, MemoryLimit: 0x7f0000003000,
				FileOffset: 0x2000, FilenameStrindex: 3, AttributeIndices: []int32{1, 2}},
			{FilenameStrindex: 3, AttributeIndices: []int32{2}}},
		FunctionTable: []*profiles.Function{{}, {NameStrindex: 6, StartLine: 7}},
		LocationTable: []*profiles.Location{{},
			{MappingIndex: 1, Address: 0x7f0000002024, AttributeIndices: []int32{3}},
			{MappingIndex: 2, Address: 0x203b},
			{MappingIndex: 1, Address: 0x7f0000002000,
				Lines: []*profiles.Line{{FunctionIndex: 1, Line: 3, Column: 4}}},
			{MappingIndex: 1, Address: 0x7f0000002050}},
		StackTable: []*profiles.Stack{{}, {LocationIndices: []int32{1, 2, 3, 4}}},
		LinkTable:  []*profiles.Link{{}, {TraceId: make([]byte, 16), SpanId: make([]byte, 8)}},
	}
	data := &profiles.ProfilesData{
		Dictionary: d,
		ResourceProfiles: []*profiles.ResourceProfiles{{
			Resource: &resource.Resource{Attributes: []*common.KeyValue{
				{Key: "service.name", Value: text("app")}}},
			ScopeProfiles: []*profiles.ScopeProfiles{{
				Scope: &common.InstrumentationScope{Name: "test", Version: "1"},
				Profiles: []*profiles.Profile{{
					SampleType:   &profiles.ValueType{TypeStrindex: 4, UnitStrindex: 5},
					PeriodType:   &profiles.ValueType{TypeStrindex: 4, UnitStrindex: 5},
					Period:       10000000,
					TimeUnixNano: 1764024000000000000,
					DurationNano: 1000000000,
					ProfileId:    []byte("0123456789abcdef"),
					Samples: []*profiles.Sample{{StackIndex: 1, LinkIndex: 1,
						Values: []int64{7}, AttributeIndices: []int32{3},
						TimestampsUnixNano: []uint64{1764024000000000001}}},
				}},
				SchemaUrl: "https://opentelemetry.io/schemas/1.37.0",
			}},
		}},
	}
	out, err := proto.MarshalOptions{Deterministic: true}.Marshal(data)
	if err != nil {
		panic(err)
	}
	os.Stdout.Write(out)
}

func read() {
	var data profiles.ProfilesData
	in, _ := io.ReadAll(os.Stdin)
	if err := proto.Unmarshal(in, &data); err != nil {
		panic(err)
	}
	d := data.Dictionary
	for _, r := range data.ResourceProfiles {
		for _, s := range r.ScopeProfiles {
			for _, p := range s.Profiles {
				for _, sample := range p.Samples {
					fmt.Println("sample", sample.Values, d.StringTable[p.SampleType.TypeStrindex])
					for _, l := range d.StackTable[sample.StackIndex].LocationIndices {
						location := d.LocationTable[l]
						fmt.Printf("%x", location.Address)
						for _, line := range location.Lines {
							f := d.FunctionTable[line.FunctionIndex]
							fmt.Printf(" %s %s:%d", d.StringTable[f.NameStrindex],
								d.StringTable[f.FilenameStrindex], line.Line)
						}
						fmt.Println()
					}
				}
			}
		}
	}
}

func main() {
	if len(os.Args) > 1 {
		read()
	} else {
		write()
	}
}
