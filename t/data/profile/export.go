// otlp export PPROF: a profile of pprof as a request to export it by OTLP, without
// the names that it has.  otlp names PPROF, otlp read REQUEST: the address and the
// frames of each location, the innermost first.
package main

import (
	"fmt"
	"os"
	"sort"
	"strings"

	"github.com/google/pprof/profile"
	collector "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	profiles "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"
	resource "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	"google.golang.org/protobuf/proto"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func attribute(key, value string) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{
		Value: &common.AnyValue_StringValue{StringValue: value}}}
}

func export(p *profile.Profile) {
	d := &profiles.ProfilesDictionary{
		StringTable:    []string{""},
		AttributeTable: []*profiles.KeyValueAndUnit{{}},
		MappingTable:   []*profiles.Mapping{{}},
		FunctionTable:  []*profiles.Function{{}},
		LocationTable:  []*profiles.Location{{}},
		StackTable:     []*profiles.Stack{{}},
		LinkTable:      []*profiles.Link{{}},
	}
	numbers := map[string]int32{"": 0}
	text := func(s string) int32 {
		if _, ok := numbers[s]; !ok {
			numbers[s] = int32(len(d.StringTable))
			d.StringTable = append(d.StringTable, s)
		}
		return numbers[s]
	}
	mappings := map[*profile.Mapping]int32{}
	for _, m := range p.Mapping {
		mappings[m] = int32(len(d.MappingTable))
		out := &profiles.Mapping{MemoryStart: m.Start, MemoryLimit: m.Limit,
			FileOffset: m.Offset, FilenameStrindex: text(m.File)}
		if m.BuildID != "" {
			out.AttributeIndices = []int32{int32(len(d.AttributeTable))}
			d.AttributeTable = append(d.AttributeTable, &profiles.KeyValueAndUnit{
				KeyStrindex: text("process.executable.build_id.gnu"),
				Value:       attribute("", m.BuildID).Value})
		}
		d.MappingTable = append(d.MappingTable, out)
	}
	locations := map[*profile.Location]int32{}
	for _, l := range p.Location {
		locations[l] = int32(len(d.LocationTable))
		d.LocationTable = append(d.LocationTable, &profiles.Location{
			MappingIndex: mappings[l.Mapping], Address: l.Address})
	}
	out := &profiles.Profile{TimeUnixNano: uint64(p.TimeNanos),
		DurationNano: uint64(p.DurationNanos), Period: p.Period,
		SampleType: &profiles.ValueType{TypeStrindex: text("samples"), UnitStrindex: text("count")},
		PeriodType: &profiles.ValueType{TypeStrindex: text("cpu"), UnitStrindex: text("nanoseconds")}}
	for _, s := range p.Sample {
		stack := &profiles.Stack{}
		for _, l := range s.Location {
			stack.LocationIndices = append(stack.LocationIndices, locations[l])
		}
		out.Samples = append(out.Samples, &profiles.Sample{
			StackIndex: int32(len(d.StackTable)), Values: s.Value[:1]})
		d.StackTable = append(d.StackTable, stack)
	}
	bytes, err := proto.Marshal(&collector.ExportProfilesServiceRequest{
		Dictionary: d,
		ResourceProfiles: []*profiles.ResourceProfiles{{
			Resource: &resource.Resource{Attributes: []*common.KeyValue{attribute("service.name", "app")}},
			ScopeProfiles: []*profiles.ScopeProfiles{{Profiles: []*profiles.Profile{out}}},
		}},
	})
	check(err)
	os.Stdout.Write(bytes)
}

func show(lines []string) {
	sort.Strings(lines)
	fmt.Println(strings.Join(lines, "\n"))
}

func names(p *profile.Profile) {
	var lines []string
	for _, l := range p.Location {
		line := fmt.Sprintf("%x", l.Address)
		for _, f := range l.Line {
			line += fmt.Sprintf("; %s %s:%d", f.Function.Name, f.Function.Filename, f.Line)
		}
		lines = append(lines, line)
	}
	show(lines)
}

func read(in []byte) {
	var request collector.ExportProfilesServiceRequest
	check(proto.Unmarshal(in, &request))
	d := request.Dictionary
	var lines []string
	for _, l := range d.LocationTable[1:] {
		line := fmt.Sprintf("%x", l.Address)
		for _, f := range l.Lines {
			function := d.FunctionTable[f.FunctionIndex]
			line += fmt.Sprintf("; %s %s:%d", d.StringTable[function.NameStrindex],
				d.StringTable[function.FilenameStrindex], f.Line)
		}
		lines = append(lines, line)
	}
	show(lines)
	n := 0
	for _, r := range request.ResourceProfiles {
		for _, s := range r.ScopeProfiles {
			for _, p := range s.Profiles {
				n += len(p.Samples)
			}
		}
	}
	fmt.Println(n, "samples")
}

func main() {
	in, err := os.ReadFile(os.Args[2])
	check(err)
	if os.Args[1] == "read" {
		read(in)
		return
	}
	p, err := profile.ParseData(in)
	check(err)
	if os.Args[1] == "export" {
		export(p)
	} else {
		names(p)
	}
}
